package cli

import (
	"path/filepath"

	"github.com/agentd-host/agentd/internal/trust"
)

// newTrustStore opens what people accepted, kept in the state folder.
func newTrustStore(e environment) *trust.Store {
	return trust.Open(filepath.Join(e.State, "trust.json"))
}

// keepTrust carries trust over to the text that a person's own command made
// of a trusted file.
func keepTrust(e environment, was, text []byte) error {
	store := newTrustStore(e)
	if !store.Trusted(e.Config, was) {
		return nil
	}
	file, err := trust.FileOf(e.Config, text)
	if err != nil {
		return err
	}
	return store.Accept(userName(), file)
}
