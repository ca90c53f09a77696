package toolsearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/invopop/jsonschema"
)

// Config is the plugin's entry in agent.yml. What is not set has the default
// of the preset, which for most is that of the plugin.
type Config struct {
	Preset   string   `json:"preset,omitempty" jsonschema:"enum=aalis,enum=chatluna,enum=dsh" jsonschema_description:"Take the defaults of another system and accept its names of options. Implied by such names."`
	Enabled  *Enabled `json:"enabled,omitempty"`
	CountOwn *bool    `json:"countOwn,omitempty" jsonschema_description:"Count the plugin's own tools towards maxDirectTools."`

	MaxDirectTools    *int     `json:"maxDirectTools,omitempty" jsonschema:"minimum=0" jsonschema_description:"Show all tools while there are at most this many. Default 20."`
	AutoDefer         []string `json:"autoDefer,omitempty" jsonschema_description:"Names with * and ? of tools that are deferred however few there are. Default [mcp__*]."`
	AlwaysDirectTools []string `json:"alwaysDirectTools,omitempty" jsonschema_description:"Names with * and ? of tools that are never deferred. Replaces the default list of file and command tools."`
	Never             []string `json:"never,omitempty" jsonschema_description:"Names with * and ? of tools that are neither shown nor found."`

	MaxDiscoveredKeep *int `json:"maxDiscoveredKeep,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many found tools a session keeps; 0 = all. Default 8."`
	MaxSessions       *int `json:"maxSessions,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many sessions' found tools are held in memory. Default 500."`
	MaxSearchResults  *int `json:"maxSearchResults,omitempty" jsonschema:"minimum=0" jsonschema_description:"Results of a search that names no limit; 0 = all. Default 5."`
	MaxSearchLimit    *int `json:"maxSearchLimit,omitempty" jsonschema:"minimum=0" jsonschema_description:"The largest limit that a search may name; 0 = any. Default 20."`

	Match        string `json:"match,omitempty" jsonschema:"enum=lexical,enum=substring,enum=keyword" jsonschema_description:"How tools are found. Default lexical."`
	Semantic     *bool  `json:"semantic,omitempty" jsonschema_description:"Let lexical matching use the meaning of words. Default true."`
	Bridge       string `json:"bridge,omitempty" jsonschema:"enum=full,enum=search" jsonschema_description:"Offer search, describe and call, or search alone. Default full."`
	SearchTool   string `json:"searchTool,omitempty" jsonschema:"enum=tool_search,enum=search_tools" jsonschema_description:"The name of the search tool. The other one works too. Default tool_search."`
	ResultFormat string `json:"resultFormat,omitempty" jsonschema:"enum=unified,enum=aalis,enum=dsh" jsonschema_description:"The form of a search's answer. Default unified."`
	ConfigTools  string `json:"configTools,omitempty" jsonschema:"enum=deferred,enum=shown,enum=none" jsonschema_description:"Whether the two tools that configure the search are found, shown, or not there; with reveal bridge they are shown where they would be found. Default deferred."`

	Listing          string   `json:"listing,omitempty" jsonschema:"enum=auto,enum=names,enum=groups,enum=off" jsonschema_description:"What the model reads of deferred tools without a search. Default auto: as much as the budget allows."`
	ListingPlace     string   `json:"listingPlace,omitempty" jsonschema:"enum=context,enum=description" jsonschema_description:"Where the listing stands: in the request's context or in the search tool's description. Default context."`
	PerGroup         *bool    `json:"perGroup,omitempty" jsonschema_description:"Shorten a listing that is too long group by group, the largest first. Default true."`
	ThresholdPct     *float64 `json:"thresholdPct,omitempty" jsonschema:"minimum=0,maximum=100" jsonschema_description:"The listing's budget in percent of the context window; 0 = not bounded so. Default 5."`
	ListingMaxTokens *int     `json:"listingMaxTokens,omitempty" jsonschema:"minimum=0" jsonschema_description:"The listing's budget in tokens; 0 = not bounded so. Default 4000."`
	ContextWindow    *int     `json:"contextWindow,omitempty" jsonschema:"minimum=0" jsonschema_description:"The context window in tokens; 0 = the model's own. Default 0."`

	Groups      []Group     `json:"groups,omitempty" jsonschema_description:"Groups of tools; the first that fits counts. A tool without one is in its MCP server's group."`
	Matcher     *Matcher    `json:"matcher,omitempty" jsonschema_description:"A rerank service that ranks the tools."`
	Embeddings  *Embeddings `json:"embeddings,omitempty" jsonschema_description:"An embeddings service whose ranking is mixed with the words'."`
	Preload     *Preload    `json:"preload,omitempty" jsonschema_description:"Show the tools that fit a session's first message from the start."`
	ConfigScope string      `json:"configScope,omitempty" jsonschema:"enum=auto,enum=user,enum=project,enum=none" jsonschema_description:"Which runtime files are read. Default auto: both."`

	Reveal       string `json:"reveal,omitempty" jsonschema:"enum=auto,enum=native,enum=append,enum=bridge" jsonschema_description:"How a found tool gets into the request. Default auto: by the provider's own means if it has any, else at the end of the list."`
	DirectCall   string `json:"directCall,omitempty" jsonschema:"enum=run,enum=suggest,enum=deny" jsonschema_description:"What happens when a model calls a tool that it has not found: it runs, or its schema is shown, or a search is proposed. Default run."`
	SearchStreak *int   `json:"searchStreak,omitempty" jsonschema:"minimum=0" jsonschema_description:"After so many searches of a turn without a call the answer says so, after three times as many searches are refused; 0 = never. Default 3."`

	Threshold          *int     `json:"threshold,omitempty" jsonschema:"minimum=0" jsonschema_description:"Preset chatluna: maxDirectTools."`
	Limit              *int     `json:"limit,omitempty" jsonschema:"minimum=0" jsonschema_description:"Preset chatluna: maxDiscoveredKeep and maxSearchResults."`
	ShowToolNames      *bool    `json:"showToolNames,omitempty" jsonschema_description:"Preset aalis: listing names or off."`
	MinCatalogSize     *int     `json:"minCatalogSize,omitempty" jsonschema:"minimum=0" jsonschema_description:"Preset dsh: maxDirectTools."`
	MaxWarmTools       *int     `json:"maxWarmTools,omitempty" jsonschema:"minimum=0" jsonschema_description:"Preset dsh: maxDiscoveredKeep."`
	SearchDefaultLimit *int     `json:"searchDefaultLimit,omitempty" jsonschema:"minimum=0" jsonschema_description:"Preset dsh: maxSearchResults."`
	MatcherTimeoutMs   *int     `json:"matcherTimeoutMs,omitempty" jsonschema:"minimum=1" jsonschema_description:"Preset dsh: matcher.timeout in milliseconds."`
	Core               []string `json:"core,omitempty" jsonschema_description:"Preset dsh: names added to alwaysDirectTools."`
}

// Group names tools that belong together.
type Group struct {
	Name     string   `json:"name" jsonschema:"minLength=1"`
	Tools    []string `json:"tools,omitempty" jsonschema_description:"Exact names."`
	Prefixes []string `json:"prefixes,omitempty" jsonschema_description:"Beginnings of names."`
}

// Matcher is a rerank service.
type Matcher struct {
	Endpoint string        `json:"endpoint" jsonschema:"minLength=1" jsonschema_description:"The full URL, as a rule ending in /v1/rerank."`
	APIKey   string        `json:"apiKey,omitempty" jsonschema:"writeOnly=true"`
	Model    string        `json:"model,omitempty"`
	TopN     int           `json:"topN,omitempty" jsonschema:"minimum=0" jsonschema_description:"The most results to ask for; 0 = as many as are wanted."`
	Timeout  time.Duration `json:"timeout,omitempty" jsonschema:"default=15s"`
}

// Embeddings is a service that turns texts into vectors.
type Embeddings struct {
	Endpoint string   `json:"endpoint" jsonschema:"minLength=1" jsonschema_description:"The full URL, as a rule ending in /v1/embeddings."`
	APIKey   string   `json:"apiKey,omitempty" jsonschema:"writeOnly=true"`
	Model    string   `json:"model" jsonschema:"minLength=1"`
	Weight   *float64 `json:"weight,omitempty" jsonschema:"minimum=0" jsonschema_description:"What the vectors count beside the words, which count 1. Default 1."`
}

// Preload warms a session by its first message.
type Preload struct {
	Enabled bool `json:"enabled,omitempty"`
	TopK    int  `json:"topK,omitempty" jsonschema:"minimum=1,default=5"`
}

// Enabled is auto, on or off. As a boolean, true is auto and false is off.
type Enabled string

// The values of Enabled. On defers tools however few there are.
const (
	EnabledAuto Enabled = "auto"
	EnabledOn   Enabled = "on"
	EnabledOff  Enabled = "off"
)

// UnmarshalJSON takes the words and booleans.
func (e *Enabled) UnmarshalJSON(data []byte) error {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	switch v {
	case true, "auto", "true":
		*e = EnabledAuto
	case false, "off", "false":
		*e = EnabledOff
	case "on":
		*e = EnabledOn
	default:
		return fmt.Errorf("want auto, on or off, got %s", data)
	}
	return nil
}

// JSONSchema describes the values.
func (Enabled) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Enum:        []any{"auto", "on", "off", true, false, "true", "false"},
		Description: "auto: defer tools when there are many; on: always; off: never. Default auto.",
	}
}

// validate refuses what does not go together.
func validate(cfg Config) error {
	s, err := resolve(cfg)
	if err != nil {
		return err
	}
	if s.reveal == revealBridge && !s.fullBridge {
		return errors.New("reveal bridge needs tool_call: set bridge to full, or reveal to append")
	}
	return nil
}
