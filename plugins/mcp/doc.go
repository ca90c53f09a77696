// Package mcp connects agentd with MCP on both sides.
//
// In: each server under servers: in the configuration runs as a fiber of its
// own below the plugin's. Its tools appear in the registry as
// mcp__<server>__<tool> while the server is there and go with it; policy,
// filters and search treat them like any other.
//
//	plugins:
//	  mcp:
//	    servers:
//	      files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", "."]}
//	      docs:  {url: "https://example.com/mcp"}
//
// What a server says about itself is untrusted: names are made unique and
// legal, schemas are made fit for models while the originals are kept,
// annotations loosen nothing, changed definitions are held back. What a server
// runs is pinned too: another command line, or another program behind it, does
// not start before a person consents. Who counts as having consented, and what
// is pinned of a program, is told by internal/consent.
package mcp
