package config_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core/config"
)

func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString("tools: {policy: {a: off}}\nplugins:\n")
	for i := range 108 {
		fmt.Fprintf(&text, "  agent:a%d: {model: \"m${X:-1}\", mode: slow, budgets: {steps: %d, wall: 10s}}\n", i, i+1)
	}
	s := newSchema(b)
	src := config.Sources{File: write(b, text.String()), Named: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Load(src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWorstInput(b *testing.B) {
	s := newSchema(b)
	inputs := heavy()
	maps.Copy(inputs, bombs())
	for name, text := range inputs {
		b.Run(name, func(b *testing.B) {
			src := config.Sources{File: write(b, text), Named: true}
			b.ReportAllocs()
			for b.Loop() {
				s.Load(src) // most are refused, see TestE29
			}
		})
	}
}
