package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agentd-host/agentd/core"
	"github.com/agentd-host/agentd/core/llm"
)

// chatFlags are the flags of chat.
type chatFlags struct {
	agent, session string
	files          []string
	json           bool
}

func newChat(s *settings) *cobra.Command {
	var f chatFlags
	c := &cobra.Command{
		Use:   "chat [flags] [MESSAGE]",
		Short: "Talk to an agent: one message, or a conversation",
		Long: "With a message chat runs one turn (\"-\" reads the message from stdin).\n" +
			"Without one it is a conversation at a terminal; else each line of stdin is a\n" +
			"message, all in one session.\n\n" +
			"Exit code 3: a tool call was refused because nobody could be asked.",
		Example: "  agentd chat \"read_file path=README.md\"\n" +
			"  agentd chat --session last \"and the tests?\"\n" +
			"  git diff | agentd chat --file - \"review this\"",
		RunE: func(c *cobra.Command, args []string) error {
			message := strings.Join(args, " ")
			if len(args) > 0 && strings.TrimSpace(message) == "" {
				return errNoMessage
			}
			if err := s.askConsent(c.Context()); err != nil {
				return err
			}
			return s.withHost(c.Context(), func(ctx context.Context, h *running) error {
				return chat(ctx, h, f, message)
			})
		},
	}
	c.Flags().StringVar(&f.agent, "agent", "", "talk to this agent of agent.yml")
	c.Flags().StringVar(&f.session, "session", "", "go on with this session (an id, or last)")
	c.Flags().StringArrayVar(&f.files, "file", nil, "attach a file to the first message (- is stdin)")
	c.Flags().BoolVar(&f.json, "json", false, "print events as JSON, one a line")
	s.registerPolicy(c.Flags())
	return c
}

// errNoMessage refuses a message without a word in it.
var errNoMessage = usageError(errors.New("the message is empty"))

// chat picks the way in which messages come: an empty message is none.
func chat(ctx context.Context, h *running, f chatFlags, message string) error {
	if _, err := h.viewer(f.agent); err != nil {
		return err
	}
	if f.session != "" {
		if _, err := h.sessions(); err != nil {
			return err
		}
	}
	attached, err := attach(ctx, f.files)
	if err != nil {
		return err
	}
	talk := &conversation{h: h, agent: f.agent, session: f.session, attached: attached}
	if isTerminal(os.Stdin) && message == "" && !f.json {
		return repl(ctx, talk)
	}
	out := &sink{w: os.Stdout}
	if f.json {
		talk.watch = lines(out)
	} else {
		p := &printer{out: out, notes: os.Stderr, style: styleOf(os.Stderr)}
		talk.watch = p.show
	}
	err = talk.messages(ctx, message)
	return errors.Join(err, out.err)
}

// messages takes the one message that was given, or those of stdin.
func (t *conversation) messages(ctx context.Context, message string) error {
	switch message {
	case "":
		return t.eachLine(ctx, readUntil(ctx, os.Stdin))
	case "-":
		text, err := io.ReadAll(readUntil(ctx, os.Stdin))
		if err != nil {
			return err
		}
		return t.once(ctx, string(text))
	}
	defer t.h.askHere(ctx)()
	return t.once(ctx, message)
}

// conversation is a series of turns in one session.
type conversation struct {
	h        *running
	agent    string
	session  string // empty until the first turn
	attached []llm.Part
	watch    func(core.AgentEvent)
	denied   []string

	// The sums of all turns.
	turns int
	usage llm.Usage
	cost  float64
}

// errNoAgent says what to do where no agent runs.
var errNoAgent = errors.New("no agent runs: agent.yml needs an entry `agent: {}` under plugins (agentd plugins shows what runs)")

// turn runs one message to the end of its turn.
func (t *conversation) turn(ctx context.Context, text string) (core.TurnResult, error) {
	agents, ok := core.Agents.Get(t.h.Context)
	if !ok {
		return core.TurnResult{}, errNoAgent
	}
	message := llm.Message{Role: llm.User, Parts: append([]llm.Part{llm.Text(text)}, t.attached...)}
	res, err := agents.Run(ctx, core.Turn{
		Agent: t.agent, Session: t.session, User: userName(), Message: message, Watch: t.watch,
	})
	if res.Session != "" {
		t.session, t.attached = res.Session, nil
	}
	t.denied = append(t.denied, res.Denied...)
	t.turns++
	t.usage, t.cost = t.usage.Add(res.Usage), t.cost+res.Cost
	return res, t.h.settings.secrets.err(err)
}

// once runs a single turn and makes its end the command's.
func (t *conversation) once(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		return errNoMessage
	}
	res, err := t.turn(ctx, text)
	if err != nil {
		return err
	}
	return t.ending(res)
}

// ending turns a result into the command's error.
func (t *conversation) ending(res core.TurnResult) error {
	switch {
	case res.Stop == core.StopCancelled:
		return context.Canceled
	case len(t.denied) > 0:
		return nobodyError(t.denied)
	case res.Stop == core.StopDone, res.Stop == core.StopPerson:
		return nil
	}
	return &codedError{exitError, nil} // the printer said which budget it was
}

// nobodyError names the tools that were refused for want of a person. Which
// rule to change depends on the arguments, and explain knows it: the tool's own
// may say auto already.
func nobodyError(tools []string) error {
	return &codedError{exitNobody, fmt.Errorf(
		"refused, since nobody could be asked: %s (run at a terminal to be asked; `agentd policy explain %s JSON` says which rule asks, and about what)",
		strings.Join(tools, ", "), tools[0])}
}

// eachLine takes every line of in as a message. A turn that fails does not
// end the conversation; the error of the last that did is the command's.
func (t *conversation) eachLine(ctx context.Context, in io.Reader) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxBody)
	var last error
	for scanner.Scan() && ctx.Err() == nil {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		res, err := t.turn(ctx, scanner.Text())
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "agentd: "+err.Error())
			last = &codedError{exitCode(err), nil}
			continue
		}
		if err := t.ending(res); err != nil {
			last = err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	return last
}

// maxAttachment bounds one attached file, in bytes.
const maxAttachment = 8 << 20

// attach reads files as parts of a message: text as text, images as images.
func attach(ctx context.Context, names []string) ([]llm.Part, error) {
	var parts []llm.Part
	for _, name := range names {
		data, err := readAttachment(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", name, err)
		}
		part := llm.Part{Kind: llm.ResourcePart, Name: filepath.Base(name), MIME: mime.TypeByExtension(filepath.Ext(name))}
		switch {
		case strings.HasPrefix(part.MIME, "image/"):
			part.Kind, part.Data = llm.ImagePart, data
		case utf8.Valid(data):
			part.URI, part.Text = "file:"+filepath.Base(name), string(data)
		default:
			return nil, fmt.Errorf("--file %s: neither text nor an image", name)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func readAttachment(ctx context.Context, name string) ([]byte, error) {
	in, err := openInput(ctx, name)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxAttachment+1))
	if err == nil && len(data) > maxAttachment {
		err = fmt.Errorf("larger than %d MiB", maxAttachment>>20)
	}
	return data, err
}

// userName is who sits at this terminal.
func userName() string {
	for _, key := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name := os.Getenv(key); name != "" {
			return name
		}
	}
	return "local"
}
