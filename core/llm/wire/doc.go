// Package wire holds what adapters of providers share: names of tools as a
// provider takes them ([Names]), tools and schemas in a provider's dialect
// ([Dialect]), the bytes of a request ([Body]), and the folding of a stream's
// pieces of tool calls into whole calls ([Calls]), whatever a provider makes of
// indices and ids.
//
// An adapter makes a Names for each request and reads the answer through the
// same one:
//
//	names := wire.NewNames(wire.Common)
//	sent, warnings := wire.OpenAI.Tools(req.Tools, false)
//	for _, t := range sent {
//		body.Tools = append(body.Tools, tool{names.Wire(t.Name), …})
//	}
//	…
//	call.Name = names.Canonical(delta.Name)
//
// Nothing here does I/O. A Names and a Calls are for one goroutine.
package wire
