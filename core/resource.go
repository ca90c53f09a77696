package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// A Resource is something that can be read by its URI, or a family of such
// things by a template. It belongs to the fiber that defined it.
type Resource struct {
	// URI is unique in the host. With variables, as in note://{folder}/{id}, it
	// is a template: {x} stands for some text without a slash, {+x} for any. The
	// values are decoded: one of {x} may have a slash that the URI has as %2F.
	// URIs that begin with [MCPScheme] are those of MCP servers.
	URI         string
	Name        string
	Title       string // for display; empty means Name
	Description string
	MIME        string // of what is read, where the parts don't say
	// Complete proposes values of the template's variables. Optional.
	Complete Completer
	// Read gives the content: text in Text, else Data, each with a URI and a
	// MIME type of its own if need be. vars are those of the template. No part
	// and no error means that there is no such resource. It is called from many
	// goroutines at once and must return soon after ctx is cancelled;
	// [CallerOf] gives it who asks.
	Read func(ctx context.Context, uri string, vars map[string]string) ([]llm.Part, error)
}

// IsTemplate tells whether the URI has variables.
func (r Resource) IsTemplate() bool { return strings.Contains(r.URI, "{") }

// ErrNoResource is the error of [Resources.Read] for a URI that nobody offers.
var ErrNoResource = errors.New("there is no such resource")

// ResourcesChanged is emitted a little after resources came or went, once for
// a burst.
var ResourcesChanged = NewEvent[struct{}]("resources:changed")

// ResourceUpdated carries the URI of a resource whose content is another one
// now. The plugin that offers it emits it; MCP clients that subscribed are
// told.
var ResourceUpdated = NewEvent[string]("resource:updated")

// Resources is the host's one registry of resources, seen from a context. It
// is cheap and may be used from any goroutine.
type Resources struct{ c *Context }

// Resources returns the registry seen from c.
func (c *Context) Resources() Resources { return Resources{c} }

// resource is a Resource as it is kept.
type resource struct {
	Resource
	template *uriTemplate // nil without variables
}

// Define offers a resource until the scope of the context ends. A URI that is
// taken, by whomever, is an [*OfferConflictError] and the first stays.
func (r Resources) Define(res Resource) error {
	kept := resource{Resource: res}
	var err error
	switch {
	case !hasScheme(res.URI):
		err = errors.New("a URI begins with a scheme, as in note://inbox")
	case strings.HasPrefix(res.URI, MCPScheme):
		err = fmt.Errorf("URIs that begin with %s are those of MCP servers: choose another scheme", MCPScheme)
	case res.Name == "":
		err = errors.New("it has no name")
	case res.Read == nil:
		err = errors.New("it has no function to read it")
	case res.IsTemplate():
		kept.template, err = parseURITemplate(res.URI)
	}
	if err != nil {
		return fmt.Errorf("resource %q: %w", res.URI, err)
	}
	return r.shelf().put(r.c, res.URI, kept)
}

// List gives the resources, sorted by URI, without their functions.
func (r Resources) List() []Resource {
	var list []Resource
	for _, o := range r.shelf().all() {
		res := o.value.Resource
		res.Read, res.Complete = nil, nil
		list = append(list, res)
	}
	return list
}

// Has tells whether a resource of that URI is offered, by itself or by a
// template.
func (r Resources) Has(uri string) bool {
	o, _ := r.find(uri)
	return o != nil
}

// Read reads a resource: [ErrNoResource] if nobody offers it. Of several
// templates that fit, the first by its text is asked. The parts have their
// URI and MIME type.
func (r Resources) Read(ctx context.Context, uri string) ([]llm.Part, error) {
	o, vars := r.find(uri)
	if o == nil {
		return nil, fmt.Errorf("resource %q: %w", uri, ErrNoResource)
	}
	parts, err := useOffer(ctx, o, func(ctx context.Context, res resource) ([]llm.Part, error) {
		return res.Read(ctx, uri, vars)
	})
	if err == nil && len(parts) == 0 {
		err = fmt.Errorf("resource %q: %w", uri, ErrNoResource)
	}
	if err != nil {
		return nil, err
	}
	out := make([]llm.Part, len(parts))
	for i, p := range parts {
		p.Kind, p.URI, p.MIME = llm.ResourcePart, cmp.Or(p.URI, uri), cmp.Or(p.MIME, o.value.MIME)
		out[i] = p
	}
	return out, nil
}

// Complete proposes values for a variable of a template, which is named by
// its text.
func (r Resources) Complete(ctx context.Context, template string, q Completion) ([]string, error) {
	o := r.shelf().find(template)
	if o == nil {
		return nil, fmt.Errorf("resource %q: %w", template, ErrNoResource)
	}
	return useOffer(ctx, o, func(ctx context.Context, res resource) ([]string, error) {
		return res.Resource.Complete.completed(ctx, q)
	})
}

// find gives the offer for a URI with the values of its variables.
func (r Resources) find(uri string) (*offer[resource], map[string]string) {
	if o := r.shelf().find(uri); o != nil && o.value.template == nil {
		return o, nil
	}
	for _, o := range r.shelf().all() {
		if o.value.template == nil {
			continue
		}
		if vars, ok := o.value.template.match(uri); ok {
			return o, vars
		}
	}
	return nil, nil
}

func (r Resources) shelf() *shelf[resource] { return &r.c.host.resources }
