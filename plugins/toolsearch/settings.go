package toolsearch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// settings are the options in force: a preset's column, what agent.yml says,
// and the runtime files, in one. They are immutable.
type settings struct {
	preset   string
	enabled  Enabled
	countOwn bool

	maxDirect    int
	autoDefer    []string
	alwaysDirect []string
	pinned       []string // names of alwaysDirect that the user wrote
	never        []string

	maxKeep, maxSessions  int
	maxResults, maxLimit  int
	match                 string
	semantic              bool
	fullBridge            bool
	searchTool            string
	resultFormat          string
	configTools           string
	listing, listingPlace string
	perGroup              bool
	thresholdPct          float64
	listingMaxTokens      int
	contextWindow         int

	groups      []Group
	matcher     *Matcher
	embeddings  *Embeddings
	preload     Preload
	configScope string
	reveal      string
	directCall  string
	streak      int
}

const (
	presetAalis    = "aalis"
	presetChatluna = "chatluna"
	presetDSH      = "dsh"

	matchSubstring = "substring"
	matchKeyword   = "keyword"

	formatAalis = "aalis"
	formatDSH   = "dsh"

	listingAuto   = "auto"
	listingNames  = "names"
	listingGroups = "groups"
	listingOff    = "off"

	placeDescription = "description"

	configToolsShown = "shown"
	configToolsNone  = "none"

	scopeAuto    = "auto"
	scopeUser    = "user"
	scopeProject = "project"
	scopeNone    = "none"

	revealAuto   = "auto"
	revealNative = "native"
	revealAppend = "append"
	revealBridge = "bridge"

	directRun     = "run"
	directSuggest = "suggest"
	directDeny    = "deny"

	defaultWindow  = 128_000
	defaultTimeout = 15 * time.Second
)

// usualTools are not deferred by default: what an agent over a folder uses in
// every other step.
var usualTools = [...]string{
	"skill", "ask_user", "todo_write", "read_file", "list_files",
	"search_files", "write_file", "edit_file", "run_command",
}

// defaults is the plugin's own column.
func defaults() settings {
	return settings{
		enabled: EnabledAuto, maxDirect: 20,
		autoDefer: []string{"mcp__*"}, alwaysDirect: slices.Clone(usualTools[:]),
		maxKeep: 8, maxSessions: 500, maxResults: 5, maxLimit: 20,
		match: "lexical", semantic: true, fullBridge: true, searchTool: toolSearchName, resultFormat: "unified",
		configTools: "deferred", listing: listingAuto, listingPlace: "context", perGroup: true,
		thresholdPct: 5, listingMaxTokens: 4000, preload: Preload{TopK: 5},
		configScope: scopeAuto, reveal: revealAuto, directCall: directRun, streak: 3,
	}
}

// column gives the defaults of a preset.
func column(preset string) (settings, error) {
	s := defaults()
	s.preset = preset
	switch preset {
	case "":
		return s, nil
	case presetAalis:
		s.maxDirect, s.autoDefer, s.alwaysDirect = 5, nil, nil
		s.maxKeep, s.maxLimit = 20, 0
		s.match, s.fullBridge, s.searchTool, s.resultFormat = matchSubstring, false, searchToolsName, formatAalis
		s.configTools, s.configScope = configToolsNone, scopeNone
		s.listing, s.listingPlace = listingNames, placeDescription
		s.thresholdPct, s.listingMaxTokens = 0, 0
	case presetChatluna:
		s.alwaysDirect, s.maxKeep, s.fullBridge = nil, 5, false
		s.configTools, s.configScope = configToolsNone, scopeNone
		s.listing, s.listingPlace = listingOff, placeDescription
		s.thresholdPct, s.listingMaxTokens = 0, 0
	case presetDSH:
		s.countOwn, s.maxDirect, s.autoDefer = true, 12, nil
		s.match, s.resultFormat, s.configTools = matchKeyword, formatDSH, configToolsShown
		s.contextWindow = defaultWindow
	default:
		return s, fmt.Errorf("preset: want aalis, chatluna or dsh, got %q", preset)
	}
	s.perGroup, s.reveal, s.streak = false, revealAppend, 0
	return s, nil
}

// dialect lists the names of options that only one system has, as far as they
// are set.
func (c *Config) dialect() map[string][]string {
	names := make(map[string][]string)
	note := func(preset, option string, set bool) {
		if set {
			names[preset] = append(names[preset], option)
		}
	}
	note(presetAalis, "showToolNames", c.ShowToolNames != nil)
	note(presetChatluna, "threshold", c.Threshold != nil)
	note(presetChatluna, "limit", c.Limit != nil)
	note(presetDSH, "minCatalogSize", c.MinCatalogSize != nil)
	note(presetDSH, "maxWarmTools", c.MaxWarmTools != nil)
	note(presetDSH, "searchDefaultLimit", c.SearchDefaultLimit != nil)
	note(presetDSH, "matcherTimeoutMs", c.MatcherTimeoutMs != nil)
	note(presetDSH, "core", c.Core != nil)
	return names
}

// presetOf is the preset that is named, or that the names of options imply.
func (c *Config) presetOf() (string, error) {
	names := c.dialect()
	if c.Preset == "" && len(names) == 1 {
		for preset := range names {
			return preset, nil
		}
	}
	for _, preset := range []string{presetAalis, presetChatluna, presetDSH} {
		if options := names[preset]; len(options) > 0 && preset != c.Preset {
			return "", fmt.Errorf("%s: an option of preset %s; set preset to %s or use the plugin's own names",
				strings.Join(options, ", "), preset, preset)
		}
	}
	return c.Preset, nil
}

// resolve fills a preset's column with what the configuration says.
func resolve(c Config) (*settings, error) {
	preset, err := c.presetOf()
	if err != nil {
		return nil, err
	}
	s, err := column(preset)
	if err != nil {
		return nil, err
	}
	c.renamed(&s)
	set(&s.enabled, c.Enabled)
	set(&s.countOwn, c.CountOwn)
	set(&s.maxDirect, c.MaxDirectTools)
	setList(&s.autoDefer, c.AutoDefer)
	setList(&s.alwaysDirect, c.AlwaysDirectTools)
	setList(&s.never, c.Never)
	s.pinned = slices.Clone(c.AlwaysDirectTools)
	s.addCore(c.Core)
	set(&s.maxKeep, c.MaxDiscoveredKeep)
	set(&s.maxSessions, c.MaxSessions)
	set(&s.maxResults, c.MaxSearchResults)
	set(&s.maxLimit, c.MaxSearchLimit)
	setWord(&s.match, c.Match)
	set(&s.semantic, c.Semantic)
	if c.Bridge != "" {
		s.fullBridge = c.Bridge == "full"
	}
	setWord(&s.searchTool, c.SearchTool)
	setWord(&s.resultFormat, c.ResultFormat)
	setWord(&s.configTools, c.ConfigTools)
	setWord(&s.listing, c.Listing)
	setWord(&s.listingPlace, c.ListingPlace)
	set(&s.perGroup, c.PerGroup)
	set(&s.thresholdPct, c.ThresholdPct)
	set(&s.listingMaxTokens, c.ListingMaxTokens)
	set(&s.contextWindow, c.ContextWindow)
	s.groups = c.Groups
	s.setMatcher(c.Matcher)
	s.embeddings = c.Embeddings
	set(&s.preload, c.Preload)
	setWord(&s.configScope, c.ConfigScope)
	setWord(&s.reveal, c.Reveal)
	setWord(&s.directCall, c.DirectCall)
	set(&s.streak, c.SearchStreak)
	return &s, nil
}

// renamed takes the options that a preset has under names of its own.
// Canonical names beside them win.
func (c *Config) renamed(s *settings) {
	set(&s.maxDirect, c.Threshold)
	set(&s.maxKeep, c.Limit)
	set(&s.maxResults, c.Limit)
	if c.ShowToolNames != nil {
		s.listing = listingOff
		if *c.ShowToolNames {
			s.listing = listingNames
		}
	}
	set(&s.maxDirect, c.MinCatalogSize)
	set(&s.maxKeep, c.MaxWarmTools)
	set(&s.maxResults, c.SearchDefaultLimit)
	if c.MatcherTimeoutMs != nil && c.Matcher != nil {
		timed := *c.Matcher
		timed.Timeout = time.Duration(*c.MatcherTimeoutMs) * time.Millisecond
		c.Matcher = &timed
	}
}

// addCore adds names that are never deferred.
func (s *settings) addCore(names []string) {
	s.alwaysDirect = append(slices.Clone(s.alwaysDirect), names...)
	s.pinned = append(slices.Clone(s.pinned), names...)
}

func (s *settings) setMatcher(m *Matcher) {
	if m == nil || m.Endpoint == "" {
		return
	}
	own := *m
	if own.Timeout <= 0 {
		own.Timeout = defaultTimeout
	}
	s.matcher = &own
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func setWord(to *string, from string) {
	if from != "" {
		*to = from
	}
}

func setList(to *[]string, from []string) {
	if from != nil {
		*to = slices.Clone(from)
	}
}

// window is the context window to measure against.
func (s *settings) window(model int) int {
	switch {
	case s.contextWindow > 0:
		return s.contextWindow
	case model > 0:
		return model
	}
	return defaultWindow
}

// budget is how many tokens the listing may have; 0 = any number.
func (s *settings) budget(window int) int {
	n := max(1, int(s.thresholdPct*float64(s.window(window))/100))
	if s.thresholdPct == 0 || s.listingMaxTokens > 0 && s.listingMaxTokens < n {
		n = s.listingMaxTokens
	}
	return n
}

// keep bounds a number by maxDiscoveredKeep.
func (s *settings) keep(n int) int {
	if s.maxKeep > 0 {
		return min(n, s.maxKeep)
	}
	return n
}
