package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/term"
)

// maxHistory is how many messages are kept for the arrow keys.
const maxHistory = 500

// history keeps the messages of a person over all conversations, one JSON
// string a line in a file of the state folder (0600). What can't be read or
// written is not kept: losing history is no reason to end a conversation.
type history struct {
	path  string
	lines []string // oldest first
	off   atomic.Bool
}

// openHistory reads what the last conversations left, and shortens the file
// when it has grown to twice what is kept.
func openHistory(path string) *history {
	h := &history{path: path}
	text, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	for row := range bytes.Lines(text) {
		var line string
		if json.Unmarshal(row, &line) == nil {
			h.lines = append(h.lines, line)
		}
	}
	if len(h.lines) > maxHistory {
		long := len(h.lines) > 2*maxHistory
		h.lines = h.lines[len(h.lines)-maxHistory:]
		if long {
			h.rewrite()
		}
	}
	return h
}

// pause keeps lines out of the history, such as answers, until resume.
func (h *history) pause()  { h.off.Store(true) }
func (h *history) resume() { h.off.Store(false) }

// Add keeps a line, unless it is empty or the same as the one before.
func (h *history) Add(line string) {
	if h.off.Load() || strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.Write(historyRow(line)) //nolint:errcheck // not kept then
}

// Len counts the lines.
func (h *history) Len() int { return len(h.lines) }

// At is the line that was added i lines ago.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) rewrite() {
	var text []byte
	for _, line := range h.lines {
		text = append(text, historyRow(line)...)
	}
	next := h.path + ".new"
	if os.WriteFile(next, text, 0o600) == nil {
		os.Rename(next, h.path) //nolint:errcheck // shortened the next time
	}
}

func historyRow(line string) []byte {
	row, err := json.Marshal(line)
	if err != nil {
		return nil
	}
	return append(row, '\n')
}

var _ term.History = (*history)(nil)
