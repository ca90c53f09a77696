// Package stdio runs an MCP server as a child process and exchanges JSON-RPC
// lines with it.
//
// [Start] gives a [Conn], which is a connection in the sense of the MCP SDK.
// It is strict about processes and lenient about what they print: the child
// and everything it starts form one process group that ends as a whole, while
// banners, blank lines and oversized answers cost at most the call they belong
// to.
//
//	conn, err := stdio.Start(stdio.Command{Name: "npx", Args: []string{"-y", "some-server"}}, nil)
//	...
//	defer conn.Close()
//
// A Conn has one reader and any number of writers. Close may be called at any
// time, from anywhere, more than once; it returns when the group is gone.
package stdio
