package core

import (
	"encoding/json"
	"fmt"

	"github.com/agentd-host/agentd/core/llm"
	"github.com/agentd-host/agentd/core/schema"
)

// An Inquiry is something that a running tool, prompt or resource wants to
// know from its [Caller]: an [*Elicitation], a [*Sampling] or [*Roots]. The
// answer is filled in.
type Inquiry interface {
	// label names the inquiry among those that are asked together; clients
	// see it. Empty: one is made.
	label() string
}

// An Elicitation asks the person behind a call to fill in a form.
type Elicitation struct {
	Name string // identifies the answer; optional
	Text string // what the person reads
	// Schema of the form: an object whose properties are texts, numbers, yes or
	// no, or choices. Empty: only yes or no to the text.
	Schema json.RawMessage

	// Reply holds the form in Data, which fits the schema, with its defaults.
	Reply Reply
}

// A Sampling asks for an answer of the caller's language model.
type Sampling struct {
	Name    string
	Request llm.Request // System, Messages and Limits count

	Answer llm.Message
	Model  string // which model it was
}

// Roots asks for the folders that the caller works in.
type Roots struct {
	Name string

	Folders []Folder
}

// Folder is a folder by its URI, usually file://.
type Folder struct{ URI, Name string }

func (e *Elicitation) label() string { return e.Name }
func (s *Sampling) label() string    { return s.Name }
func (r *Roots) label() string       { return r.Name }

// InquiryName is the name under which the inquiry at position i of several
// is known to whoever answers.
func InquiryName(q Inquiry, i int) string {
	if name := q.label(); name != "" {
		return name
	}
	return fmt.Sprintf("question-%d", i+1)
}

// eachForm calls f for the forms among the inquiries, up to the first error.
func eachForm(qs []Inquiry, f func(*Elicitation) error) error {
	for _, q := range qs {
		if e, ok := q.(*Elicitation); ok {
			if err := f(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// check refuses a form whose schema can't be used.
func (e *Elicitation) check() error {
	if len(e.Schema) == 0 {
		return nil
	}
	if _, err := schema.Compile(e.Schema); err != nil {
		return fmt.Errorf("the form %q: %w", e.Name, err)
	}
	return nil
}

// settle completes the form with the defaults of what was left out, and checks it.
func (e *Elicitation) settle() error {
	if e.Reply.Declined || len(e.Schema) == 0 {
		return nil
	}
	content := map[string]any{}
	if len(e.Reply.Data) > 0 {
		if err := json.Unmarshal(e.Reply.Data, &content); err != nil {
			return fmt.Errorf("the answer to the form %q is no object: %w", e.Name, err)
		}
	}
	var form struct {
		Properties map[string]struct {
			Default any `json:"default"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(e.Schema, &form) // what compiled is an object or true
	for name, p := range form.Properties {
		if _, given := content[name]; !given && p.Default != nil {
			content[name] = p.Default
		}
	}
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	e.Reply.Data = data
	s, err := schema.Compile(e.Schema)
	if err != nil {
		return err
	}
	if err := s.Validate(data).Err(); err != nil {
		return fmt.Errorf("the answer to the form %q: %w", e.Name, err)
	}
	return nil
}
