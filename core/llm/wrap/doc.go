// Package wrap holds models around models: [Retry], [RateLimit], [Record] and
// [Replay], [Redact]. Each is an llm.Model again, so they can be stacked; an
// adapter usually does
//
//	m = wrap.Redact(wrap.Retry(wrap.RateLimit(m, limit), nil), apiKey)
//
// with one [Limit] for all models of a provider, which are made anew for each
// request.
//
// All of them may be used from many goroutines.
package wrap
