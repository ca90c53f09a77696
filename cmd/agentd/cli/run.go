package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
)

func newRun(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the daemon in the foreground",
		Long: "run starts what agent.yml names and follows the file until SIGINT or SIGTERM.\n" +
			"SIGHUP reads the file again. Other commands on the same config use this\n" +
			"daemon through a socket in the state folder.",
		Example: "  agentd run -c agent.yml --log-format json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.runDaemon(c.Context())
		},
	}
}

// runDaemon serves until ctx ends. Being told to end is a good end.
func (s *settings) runDaemon(ctx context.Context) error {
	hangups := make(chan os.Signal, 1)
	if len(hangupSignals) > 0 { // none would mean all of them
		signal.Notify(hangups, hangupSignals...)
		defer signal.Stop(hangups)
	}
	env, err := findEnvironment(s.config)
	if err != nil {
		return err
	}
	if env.Config == "" {
		return errNoConfig
	}
	lock, err := lockDaemon(env)
	if err != nil {
		return err
	}
	defer lock.Close()
	h, err := s.start(ctx, slog.LevelInfo)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	socket, err := listenSocket(h.env, h, operations())
	if err != nil {
		return errors.Join(err, h.stop())
	}
	h.log.Info("ready", "config", h.env.Config, "socket", socket.path)
	notifyReady()
	h.serve(ctx, hangups)
	h.log.Info("stopping")
	closing, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(socket.Close(closing), h.stop())
}

// serve reloads at each hangup until ctx ends.
func (h *running) serve(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			h.loader.Reload(ctx) //nolint:errcheck // the loader logs and keeps it
		}
	}
}

// notifyReady tells systemd that the service is up (sd_notify(3)); elsewhere
// it does nothing.
func notifyReady() {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	if address[0] == '@' {
		address = "\x00" + address[1:]
	}
	conn, err := net.Dial("unixgram", address)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte("READY=1")) //nolint:errcheck // nobody to tell
}
