package cli

import (
	"context"
	"io"
	"os"
)

// openInput opens the file that an argument names; - is stdin.
func openInput(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return readUntil(ctx, os.Stdin), nil
	}
	return os.Open(name)
}

// readUntil reads in until ctx ends, and then fails with its cause. A blocked
// read cannot be taken back: its goroutine lives as long as the process.
func readUntil(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r
}
