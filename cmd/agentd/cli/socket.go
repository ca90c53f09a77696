package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// maxBody bounds a request on the socket, in bytes.
const maxBody = 8 << 20

// socketServer answers operations on the daemon's unix socket. The socket's
// mode (0600, in a 0700 folder) is what keeps others out.
type socketServer struct {
	http *http.Server
	path string
}

// errDaemonRuns refuses a second daemon on one config.
var errDaemonRuns = errors.New("a daemon runs on this config already")

// lockDaemon takes the lock of this config, which a daemon holds for as long
// as anything of it runs.
func lockDaemon(e environment) (*os.File, error) {
	path, err := e.socketPath()
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("%w: %s (stop it, or use it: every command finds it by the config file)", errDaemonRuns, e.Config)
	}
	return lock, nil
}

// listenSocket begins to answer. The caller holds the lock: a socket that is
// still there is left over.
func listenSocket(e environment, h *running, ops []served) (*socketServer, error) {
	path, err := e.socketPath()
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	personal := map[string]bool{}
	for _, op := range forPersons() {
		personal[op.path()] = true
	}
	for _, op := range ops {
		f := answer(h, op)
		if personal[op.path()] {
			f = forPerson(f, func(e *remoteError) any { return e })
		}
		mux.HandleFunc("POST "+op.path(), f)
	}
	mux.HandleFunc("POST "+callPath, forPerson(serveCall(h), func(e *remoteError) any { return callNews{Error: e} }))
	s := &socketServer{&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ConnContext: withPeer}, path}
	go s.http.Serve(l) //nolint:errcheck // ends with Shutdown, which removes the socket
	return s, nil
}

func answer(h *running, op served) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			writeJSON(w, http.StatusRequestEntityTooLarge, remoteError{Message: err.Error()})
			return
		}
		out, err := op.serve(r.Context(), h, body)
		if err != nil {
			writeJSON(w, http.StatusUnprocessableEntity, remoteError{h.settings.secrets.redact(err.Error()), exitCode(err)})
			return
		}
		writeJSON(w, http.StatusOK, out)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the peer left
}

// Close waits for what is being answered, then gives up the socket.
func (s *socketServer) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	return err
}
