// Package wrap holds models around models: [Retry], [RateLimit], [Record] and
// [Replay], [Redact]. Each is an llm.Model again, so they can be stacked; an
// adapter usually does
//
//	m = wrap.Redact(wrap.Retry(wrap.RateLimit(m, 60), nil), apiKey)
//
// All of them may be used from many goroutines.
package wrap
