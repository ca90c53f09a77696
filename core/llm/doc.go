// Package llm holds the neutral types between an agent's loop and the models
// that it talks to: a [Request] goes in, a stream of [Event]s comes out.
//
// A [Model] is one model behind one provider. It knows nothing of sessions,
// policies or plugins; it gets everything that it needs in the request:
//
//	for ev, err := range model.Stream(ctx, req) {
//		if err != nil {
//			return err // always an *llm.Error
//		}
//		if ev.Kind == llm.TextDelta {
//			fmt.Print(ev.Text)
//		}
//	}
//
// [Collect] folds a stream into the [Message] that the model answered.
//
// Values of this package are plain data: safe to copy, not safe to change
// while another goroutine reads them. A Model must allow concurrent calls of
// Stream.
package llm
