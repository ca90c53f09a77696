package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Kind tells records apart.
type Kind string

// The kinds of records. A call has one decision and one outcome.
const (
	Decision  Kind = "decision"
	Outcome   Kind = "outcome"
	Authorize Kind = "authorize" // a plugin asked for a permission outside of a call
	Policy    Kind = "policy"    // a person was asked about a milder policy
	Recovered Kind = "recovered" // the line before was cut off by a crash
)

// Record is one line. Seq, Prev and Follows are set by [Log.Append].
type Record struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Prev string    `json:"prev"` // SHA-256 of the previous line, "" on the very first
	Kind Kind      `json:"kind"`
	// Follows is set on the first record after a rotation: the name of the
	// file that ends with the line before.
	Follows string `json:"follows,omitempty"`

	Session string `json:"session,omitempty"`
	Parent  string `json:"parent,omitempty"` // the session that a sub-agent's began in
	Turn    string `json:"turn,omitempty"`
	Agent   string `json:"agent,omitempty"`
	User    string `json:"user,omitempty"`
	Caller  string `json:"caller,omitempty"` // how the call came about
	Call    string `json:"call,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Source  string `json:"source,omitempty"`
	// Definition is the SHA-256 of the tool's definition.
	Definition string `json:"definition,omitempty"`
	// Digest is that of the arguments; Arguments are there by option.
	Digest    string          `json:"digest,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Target    string          `json:"target,omitempty"` // of a permission

	Decision string `json:"decision,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Approver string `json:"approver,omitempty"`
	Reason   string `json:"reason,omitempty"`

	Outcome  string        `json:"outcome,omitempty"` // ok, or the error's code
	Entered  bool          `json:"entered,omitempty"` // the tool's function was reached
	Duration time.Duration `json:"duration,omitempty"`
}

func hashLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// parseRecord reads a line. Unknown members are an error: they would be
// outside of what is checked.
func parseRecord(line []byte) (Record, error) {
	var r Record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	if d.More() {
		return r, fmt.Errorf("text after the record")
	}
	return r, nil
}
