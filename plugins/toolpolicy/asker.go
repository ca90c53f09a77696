package toolpolicy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
)

// maxAnswer bounds what a command or webhook may answer, in bytes.
const maxAnswer = 64 << 10

// configured is an asker that the options may bring along, change and take
// away while it is registered: it looks at them anew for each question.
type configured struct {
	name string
	on   func(*ApprovalConfig) bool
	ask  func(ctx context.Context, cfg *ApprovalConfig, a core.Approval) (core.Answer, error)
	now  func() *ApprovalConfig
}

func (d *configured) Name() string { return d.name }

func (d *configured) Takes(string) bool { return d.on(d.now()) }

func (d *configured) Ask(ctx context.Context, a core.Approval) (core.Answer, error) {
	ans, err := d.ask(ctx, d.now(), a)
	if err == nil && ans.By == "" {
		ans.By = d.name
	}
	return ans, err
}

// askers registers the ways to a person that the options can turn on.
func askers(c *core.Context, p *policing) error {
	now := func() *ApprovalConfig { return &p.config.Load().Approval }
	return errors.Join(
		p.broker.AddAsker(c, &configured{"command", func(cfg *ApprovalConfig) bool { return len(cfg.Command) > 0 }, askCommand, now}),
		p.broker.AddAsker(c, &configured{"webhook", func(cfg *ApprovalConfig) bool { return cfg.Webhook != "" }, askWebhook, now}),
		p.broker.AddAsker(c, &configured{"inbox", func(cfg *ApprovalConfig) bool { return cfg.Inbox }, askNobody, now}),
	)
}

// askNobody waits: somebody answers by way of core.Broker.Answer.
func askNobody(ctx context.Context, _ *ApprovalConfig, _ core.Approval) (core.Answer, error) {
	<-ctx.Done()
	return core.Answer{}, context.Cause(ctx)
}

// askCommand runs the configured program: the question comes on its standard
// input, its standard output is the answer, both JSON.
func askCommand(ctx context.Context, cfg *ApprovalConfig, a core.Approval) (core.Answer, error) {
	question, err := json.Marshal(a)
	if err != nil {
		return core.Answer{}, err
	}
	cmd := exec.CommandContext(ctx, cfg.Command[0], cfg.Command[1:]...)
	cmd.Stdin = bytes.NewReader(question)
	cmd.WaitDelay = 2 * time.Second
	var out, trouble capped
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		return core.Answer{}, fmt.Errorf("%s: %w: %s", cfg.Command[0], err, VisibleLine(strings.TrimSpace(trouble.String())))
	}
	return parseAnswer(out.Bytes())
}

// capped is a buffer that keeps the first maxAnswer bytes.
type capped struct{ bytes.Buffer }

func (c *capped) Write(data []byte) (int, error) {
	c.Buffer.Write(data[:min(len(data), max(0, maxAnswer+1-c.Len()))])
	return len(data), nil
}

// askWebhook posts the question and takes the response's body as answer.
func askWebhook(ctx context.Context, cfg *ApprovalConfig, a core.Approval) (core.Answer, error) {
	question, err := json.Marshal(a)
	if err != nil {
		return core.Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, cfg.Webhook, bytes.NewReader(question))
	if err != nil {
		return core.Answer{}, errors.New("webhook: want an http or https URL")
	}
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the webhook redirects; configure the final URL")
	}}
	resp, err := client.Do(req)
	if err != nil {
		return core.Answer{}, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return core.Answer{}, fmt.Errorf("webhook: want status 200, got %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return core.Answer{}, withoutURL(err)
	}
	return parseAnswer(body)
}

// withoutURL drops the URL from an error: it may hold a token.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("webhook: %w", u.Err)
	}
	return err
}

// parseAnswer reads {"kind": "once", "text": "…", "by": "…"}, strictly: what
// two readers could take for two answers is none.
func parseAnswer(data []byte) (core.Answer, error) {
	var ans core.Answer
	if len(data) > maxAnswer {
		return ans, fmt.Errorf("answer longer than %d bytes", maxAnswer)
	}
	err := checkAnswer(data)
	if err == nil {
		err = json.Unmarshal(data, &ans)
	}
	if err != nil {
		return core.Answer{}, fmt.Errorf(`want an answer such as {"kind": "once"}: %w`, err)
	}
	return ans, nil
}

func checkAnswer(data []byte) error {
	v, err := decodeOrdered(data)
	if err != nil {
		return err
	}
	obj, ok := v.(object)
	if !ok {
		return errors.New("not an object")
	}
	for _, f := range obj {
		if !slices.Contains([]string{"kind", "text", "by", "pattern"}, f.key) {
			return fmt.Errorf("unknown key %q", f.key)
		}
	}
	return nil
}

var _ core.Asker = (*configured)(nil)
