package cli

import (
	"path/filepath"

	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/internal/trust"
)

// newTrustStore opens what people accepted, kept in the state folder.
func newTrustStore(e environment) *trust.Store {
	return trust.Open(trustFile(e))
}

func trustFile(e environment) string { return filepath.Join(e.State, "trust.json") }

// keepTrust carries trust over to what a person's own command is about to
// make of a trusted file.
func keepTrust(store *trust.Store) func(before, after *config.File) error {
	return func(before, after *config.File) error {
		if !store.TrustedSum(before.Path, before.SHA256) {
			return nil
		}
		file, err := trust.FileOf(after.Path, after.Bytes)
		if err != nil {
			return err
		}
		return store.Accept(userName(), file)
	}
}
