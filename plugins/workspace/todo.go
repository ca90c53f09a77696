package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentd-host/agentd/core"
)

// todosKept is the kind of the session event that holds the list.
const todosKept = "workspace:todos"

const maxTodos = 200

// todoInput is what todo_write takes.
type todoInput struct {
	Todos *[]todo `json:"todos,omitempty" jsonschema_description:"The whole new list. Without it the present list is shown."`
}

// todo is one thing to do.
type todo struct {
	Content string `json:"content" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"What is to be done."`
	Status  string `json:"status,omitempty" jsonschema:"enum=pending,enum=in_progress,enum=completed,default=pending" jsonschema_description:"How far it is."`
}

func (t *tools) addTodos(l *toolList) {
	addTool(l, core.Tool{
		Name: "todo_write", Title: "Write the list of things to do",
		Traits: core.Traits{Effect: core.Read, AlwaysLoad: true},
		Description: "Keep a list of the steps of a longer task, so that none is forgotten and the user sees how " +
			"far it is. Each call replaces the list of this session; send all items.",
	}, writeTodos)
}

// writeTodos keeps the list as an event of the turn's session, so that it
// lives, is forked and is cleared with it.
func writeTodos(ctx context.Context, _ *core.Invocation, in todoInput) (core.Result, error) {
	session, ok := core.SessionFrom(ctx)
	if !ok {
		return core.Result{}, errors.New("this call belongs to no session that could keep a list")
	}
	if in.Todos == nil {
		todos, err := keptTodos(ctx, session)
		return core.TextResult(todoText(todos)), err
	}
	todos := *in.Todos
	if len(todos) > maxTodos {
		return core.Result{}, fmt.Errorf("%d items; a list holds at most %d", len(todos), maxTodos)
	}
	data, err := json.Marshal(todos)
	if err != nil {
		return core.Result{}, err
	}
	err = session.Append(ctx, core.SessionEvent{Time: time.Now(), Kind: todosKept, Data: data})
	return core.TextResult(todoText(todos)), err
}

func keptTodos(ctx context.Context, session core.Session) ([]todo, error) {
	events, err := session.Events(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == todosKept {
			var todos []todo
			err := json.Unmarshal(events[i].Data, &todos)
			return todos, err
		}
	}
	return nil, nil
}

func todoText(todos []todo) string {
	if len(todos) == 0 {
		return "[the list is empty]"
	}
	var b strings.Builder
	done := 0
	for _, item := range todos {
		mark := " "
		switch item.Status {
		case "completed":
			mark = "x"
			done++
		case "in_progress":
			mark = ">"
		}
		fmt.Fprintf(&b, "[%s] %s\n", mark, strings.Join(strings.Fields(item.Content), " "))
	}
	fmt.Fprintf(&b, "[%d of %d done]\n", done, len(todos))
	return b.String()
}
