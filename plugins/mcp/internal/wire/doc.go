// Package wire looks at the messages that pass between the MCP SDK and a
// server, to keep what the SDK's types would lose or refuse: results exactly
// as they were received, blocks of unknown types, tools with broken schemas,
// the order of progress and result, and which call a server's question
// belongs to.
//
// A caller puts a [Tap] into the context of one SDK call. [Transport] (for
// connections of any kind) and [RoundTripper] (for streamable HTTP, whose
// connection the SDK does not let wrap) fill it as the answer passes by, and
// hand the SDK a harmless stand-in.
//
// What needs nothing of the SDK is called beside it: [Conn.Call] sends a
// request over the same connection and takes the answer out before the SDK
// would decode it.
package wire
