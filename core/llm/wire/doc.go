// Package wire holds what adapters of providers share: names of tools as a
// provider takes them ([Names]), schemas in a provider's dialect ([Dialect]),
// and the folding of a stream's pieces of tool calls into whole calls
// ([Calls]), whatever a provider makes of indices and ids.
//
// An adapter makes a Names for each request and reads the answer through the
// same one:
//
//	names := wire.NewNames(wire.Common)
//	for _, t := range req.Tools {
//		body.Tools = append(body.Tools, tool{names.Wire(t.Name), …})
//	}
//	…
//	call.Name = names.Canonical(delta.Name)
//
// Nothing here does I/O. A Names and a Calls are for one goroutine.
package wire
