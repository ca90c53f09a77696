package core_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentd-host/agentd/core"
)

// The plugin of the README. A config is a struct: its tags are the schema of
// the entry in agent.yml.
type weatherConfig struct {
	Units string        `json:"units,omitempty" jsonschema:"enum=metric,enum=imperial,default=metric" jsonschema_description:"Units of the answer."`
	Every time.Duration `json:"every,omitempty" jsonschema:"default=10m" jsonschema_description:"How often the forecast is fetched."`
}

var weather = core.Plugin[weatherConfig]{
	Name:  "weather",
	Title: "Weather",
	Apply: func(c *core.Context, cfg weatherConfig) error {
		f := newForecast(cfg.Units)
		return errors.Join(
			c.OnDispose(f.Close),
			c.Go("poll", func(ctx context.Context) error { return f.poll(ctx, cfg.Every) }),
			core.DefineTool(c, core.Tool{
				Name:        "weather_lookup",
				Description: "Current weather of a city.",
				Traits:      core.Traits{Effect: core.Read, Parallel: true},
			}, func(ctx context.Context, in struct {
				City string `json:"city" jsonschema_description:"City name, any language."`
			}) (string, error) {
				return f.lookup(in.City)
			}),
		)
	},
}

// forecast is what the plugin is about; agentd knows nothing of it.
type forecast struct{ unit string }

func newForecast(units string) *forecast {
	if units == "imperial" {
		return &forecast{"F"}
	}
	return &forecast{"C"}
}

func (f *forecast) lookup(city string) (string, error) {
	return fmt.Sprintf("%s: sunny, 21 %s", city, f.unit), nil
}

func (f *forecast) poll(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C: // fetch
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *forecast) Close() error { return nil }

// Everything that the plugin registered goes with its fiber: the tool, the
// goroutine, the undo.
func ExamplePlugin() {
	host := core.New(nil)
	defer host.Close(context.Background())
	root := host.Root()

	fiber, err := root.Load(weather, []byte(`{"units":"metric"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := fiber.Ready(root); err != nil {
		fmt.Println(err)
		return
	}
	call := core.Call{Name: "weather_lookup", Args: []byte(`{"city":"Oslo"}`)}
	fmt.Println(root.Tools().Execute(root, call).Text())

	fmt.Println(fiber.Dispose(root))
	fmt.Println(root.Tools().Execute(root, call).Err)
	// Output:
	// Oslo: sunny, 21 C
	// <nil>
	// weather_lookup: there is no tool "weather_lookup"
}
