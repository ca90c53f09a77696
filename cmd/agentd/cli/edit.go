package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/config"
	"github.com/agentd-host/agentd/core/loader"
)

// The operations that edit agent.yml. A host makes an edit and applies it, so
// that it holds when they answer; without one the file is changed after the
// same check.
var (
	policySet = operation[setRule, edited]{"policy/set",
		func(ctx context.Context, h *running, in setRule) (edited, error) {
			doc, err := h.setPolicy(ctx, in)
			if err != nil {
				return edited{}, err
			}
			return edited{h.env.Config, in.Pattern + " is " + in.Value, cmp.Or(ruleNote(doc, in), h.heldNote(in))}, nil
		}}
	pluginsEnable = operation[enableEntry, edited]{"plugins/enable",
		func(ctx context.Context, h *running, in enableEntry) (edited, error) {
			doc, err := h.setEnabled(ctx, in)
			if err != nil {
				return edited{}, err
			}
			return edited{entryFile(doc, in.ID), in.ID + " " + in.verb() + "d", entryNote(doc, in)}, nil
		}}
)

// setRule asks for a rule of tools.policy.
type setRule struct {
	Pattern string `json:"pattern"`
	Value   string `json:"value"`
}

// enableEntry asks for an entry to run, or not to.
type enableEntry struct {
	ID string `json:"id"`
	On bool   `json:"on"`
}

func (in enableEntry) verb() string {
	if in.On {
		return "enable"
	}
	return "disable"
}

// edited is what became of an edit: what the file says now and, where that
// does not hold yet, why.
type edited struct {
	File string `json:"file"`
	Says string `json:"says"`
	Note string `json:"note,omitempty"`
}

func (e edited) String() string {
	text := e.File + ": " + e.Says
	if e.Note != "" {
		text += ", but " + e.Note
	}
	return text
}

func printEdited(w io.Writer, e edited) { fmt.Fprintln(w, e) }

// editor changes agent.yml without a host.
func (s *settings) editor(env environment) (loader.Editor, error) {
	schema, err := s.schema()
	store := newTrustStore(env)
	return loader.Editor{
		Schema: schema, Sources: s.sources(env, store.TrustedSum), Accept: keepTrust(store),
	}, err
}

// setPolicy writes a rule into agent.yml and returns what holds then.
func (h *running) setPolicy(ctx context.Context, in setRule) (*config.Document, error) {
	if h.loader == nil {
		e, err := h.settings.editor(h.env)
		if err != nil {
			return nil, err
		}
		return e.SetPolicy(in.Pattern, in.Value)
	}
	err := h.loader.SetPolicy(ctx, in.Pattern, in.Value)
	return h.loader.Document(), err
}

// setEnabled takes the ~ from an entry or puts it there, and returns what
// holds then.
func (h *running) setEnabled(ctx context.Context, in enableEntry) (*config.Document, error) {
	if h.loader == nil {
		e, err := h.settings.editor(h.env)
		if err != nil {
			return nil, err
		}
		return e.SetEnabled(in.ID, in.On)
	}
	change := h.loader.Disable
	if in.On {
		change = h.loader.Enable
	}
	err := change(ctx, in.ID)
	return h.loader.Document(), err
}

// heldBack is why what was written is not in force.
const heldBack = "only after `agentd trust`: nobody trusted this file yet"

// untrusted reports whether nobody trusted the project's file.
func untrusted(doc *config.Document) bool {
	return slices.ContainsFunc(doc.Files, func(f config.FileInfo) bool { return f.Path == doc.File && !f.Trusted })
}

// ruleNote says why a rule that was written does not hold; "" if it does.
func ruleNote(doc *config.Document, in setRule) string {
	for _, r := range doc.Policy {
		if r.Pattern != in.Pattern {
			continue
		}
		if r.Value == in.Value {
			return ""
		}
		if r.Source != "" {
			return fmt.Sprintf("%s says %s, which holds", r.Source, r.Value)
		}
	}
	if untrusted(doc) && in.Value == string(core.Auto) {
		return heldBack
	}
	return ""
}

// heldNote says that a milder rule waits for a person; "" if it does not.
func (h *running) heldNote(in setRule) string {
	if h.loader == nil || in.Value == string(core.Off) {
		return ""
	}
	if admin, err := h.policyAdmin(); err == nil && admin.Held() {
		return "only after a person confirms it (`agentd approvals`), since a tool call may have changed the file"
	}
	return ""
}

// entryNote says why an entry does not run, or does; "" if it is as was asked.
func entryNote(doc *config.Document, in enableEntry) string {
	e := doc.Entry(in.ID)
	switch {
	case e == nil && untrusted(doc):
		return heldBack
	case e == nil:
		return ""
	case e.Disabled == in.On:
		return "another source of the configuration says otherwise"
	case in.On:
		return groupNote(doc.Entries, e.ID)
	}
	return ""
}

// groupNote names the disabled group that an entry is in.
func groupNote(entries []*config.Entry, id string) string {
	for _, g := range entries {
		if g.Group == nil || (&config.Document{Entries: g.Group.Entries}).Entry(id) == nil {
			continue
		}
		if g.Disabled {
			return g.Name() + ", which it is in, is disabled"
		}
		return groupNote(g.Group.Entries, id)
	}
	return ""
}

// entryFile is the file that has an entry.
func entryFile(doc *config.Document, id string) string {
	if e := doc.Entry(id); e != nil && e.Pos.File != "" {
		return e.Pos.File
	}
	return doc.File
}

// withFiles runs f with the daemon of this config if one runs, else with the
// files alone: an edit starts nothing.
func (s *settings) withFiles(ctx context.Context, f func(context.Context, target) error) error {
	env, daemon, err := s.daemon()
	switch {
	case err != nil:
		return err
	case env.Config == "":
		return errNoConfig
	case daemon != nil:
		return f(ctx, target{remote: daemon})
	}
	return f(ctx, target{local: &running{settings: s, env: env}})
}

// theRule reads PATTERN VALUE.
func theRule(args []string) (setRule, error) {
	value, err := core.ParsePolicy(args[1])
	if err != nil {
		return setRule{}, usageError(fmt.Errorf("policy of %s: %w", args[0], err))
	}
	if err := config.CheckPattern(args[0]); err != nil {
		return setRule{}, usageError(err)
	}
	return setRule{args[0], string(value)}, nil
}
