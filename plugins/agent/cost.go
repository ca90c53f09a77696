package agent

import (
	"cmp"
	"path"

	"github.com/agentd-host/agentd/core/llm"
)

// price is what an answer cost by the configured prices. An exact name wins
// over a glob, a longer glob over a shorter one; no price costs nothing.
func price(prices map[string]Price, model string, u llm.Usage) float64 {
	p, ok := prices[model]
	if !ok {
		best := ""
		for pattern := range prices {
			match, _ := path.Match(pattern, model) // validated with the config
			if match && (len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
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
