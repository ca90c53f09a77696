package agent

import (
	"cmp"
	"path"
	"strings"

	"github.com/agentd-host/agentd/core/llm"
)

// price is what an answer cost by the configured prices. An exact name wins
// over a glob, a longer glob over a shorter one; no price costs nothing.
func price(prices map[string]Price, model string, u llm.Usage) float64 {
	p, ok := prices[model]
	if !ok {
		best := ""
		for pattern := range prices {
			if covers(pattern, model) && (len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
				best = pattern
			}
		}
		p = prices[best]
	}
	plain := u.Input - u.CacheRead - u.CacheWrite
	sum := float64(plain)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*cmp.Or(p.CacheRead, p.Input) +
		float64(u.CacheWrite)*cmp.Or(p.CacheWrite, p.Input)
	return sum / 1e6
}

// covers matches a glob whose * spans everything, slashes too.
func covers(pattern, model string) bool {
	flat := strings.NewReplacer("/", "\x00")
	match, _ := path.Match(flat.Replace(pattern), flat.Replace(model)) // validated with the config
	return match
}
