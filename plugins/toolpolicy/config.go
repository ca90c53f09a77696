package toolpolicy

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/schema"
)

// Config holds the options of the plugin. The rules themselves stand under
// tools.policy and reach the plugin through core.PolicyRules.
type Config struct {
	// ByEffect decides for tools that no rule names.
	ByEffect map[core.Effect]core.Policy `json:"byEffect,omitempty" jsonschema_description:"What holds for tools that no rule names, by effect (read, write, exec). An undeclared effect counts as exec. Default is read: auto, write: ask, exec: ask."`
	// Default decides where ByEffect lacks the effect, and for permissions.
	Default  core.Policy    `json:"default,omitempty" jsonschema:"enum=auto,enum=ask,enum=ask!,enum=off,default=ask" jsonschema_description:"What holds where byEffect lacks the effect."`
	Approval ApprovalConfig `json:"approval,omitempty" jsonschema_description:"How people are asked."`
	Audit    AuditConfig    `json:"audit,omitempty" jsonschema_description:"The record of decisions and outcomes."`
}

// ApprovalConfig says how people are asked.
type ApprovalConfig struct {
	Timeout time.Duration `json:"timeout,omitempty" jsonschema:"default=120s" jsonschema_description:"How long a question waits for an answer before the call is refused."`
	// Command and Webhook reach a person from a daemon.
	Command []string `json:"command,omitempty" jsonschema_description:"A program that gets each question as JSON on its standard input and prints the answer as JSON."`
	// Inbox lets questions wait for whoever lists and answers them.
	Inbox   bool   `json:"inbox,omitempty" jsonschema_description:"Let questions wait for agentd approvals answer, where nobody else can be asked. Otherwise such calls are refused at once."`
	Webhook string `json:"webhook,omitempty" jsonschema_description:"A URL that gets each question by POST as JSON and responds with the answer as JSON."`
}

// AuditConfig says what is recorded and where.
type AuditConfig struct {
	File      string `json:"file,omitempty" jsonschema_description:"Where the record is written; default is audit.jsonl in the state folder."`
	Arguments string `json:"arguments,omitempty" jsonschema:"enum=redacted,enum=full,enum=none,default=redacted" jsonschema_description:"What of the arguments is recorded besides their digest."`
	Rotate    string `json:"rotate,omitempty" jsonschema:"default=16MiB" jsonschema_description:"The size at which a new file is begun, such as 16MiB; 0 never rotates."`
}

// withDefaults returns the config with every option filled in.
func (c Config) withDefaults() Config {
	if c.ByEffect == nil {
		c.ByEffect = map[core.Effect]core.Policy{core.Read: core.Auto, core.Write: core.Ask, core.Exec: core.Ask}
	}
	if c.Default == "" {
		c.Default = core.Ask
	}
	if c.Approval.Timeout == 0 {
		c.Approval.Timeout = 2 * time.Minute
	}
	if c.Audit.Arguments == "" {
		c.Audit.Arguments = "redacted"
	}
	if c.Audit.Rotate == "" {
		c.Audit.Rotate = "16MiB"
	}
	return c
}

// Validate checks what the schema cannot.
func (c Config) Validate() error {
	for effect, value := range c.ByEffect {
		if effect != core.Read && effect != core.Write && effect != core.Exec {
			return schema.At(fmt.Errorf("want read, write or exec, got %q", effect), "byEffect")
		}
		if _, err := core.ParsePolicy(string(value)); err != nil {
			return schema.At(err, "byEffect", string(effect))
		}
	}
	if _, err := core.ParsePolicy(string(c.Default)); err != nil && c.Default != "" {
		return schema.At(err, "default")
	}
	return errors.Join(c.Approval.validate(), c.Audit.validate())
}

func (c *ApprovalConfig) validate() error {
	if c.Timeout < 0 {
		return schema.At(fmt.Errorf("want a duration such as 120s, got %v", c.Timeout), "approval", "timeout")
	}
	if len(c.Command) > 0 && c.Command[0] == "" {
		return schema.At(errors.New("the first word is the program; got an empty one"), "approval", "command")
	}
	if c.Webhook == "" {
		return nil
	}
	u, err := url.Parse(c.Webhook)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return schema.At(errors.New("want an https URL, or an http one on this machine"), "approval", "webhook")
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

func (c *AuditConfig) validate() error {
	if c.Arguments != "" && !slices.Contains([]string{"redacted", "full", "none"}, c.Arguments) {
		return schema.At(fmt.Errorf("want redacted, full or none, got %q", c.Arguments), "audit", "arguments")
	}
	if _, err := parseSize(c.Rotate); err != nil && c.Rotate != "" {
		return schema.At(err, "audit", "rotate")
	}
	return nil
}
