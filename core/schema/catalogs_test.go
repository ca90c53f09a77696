package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentd-host/agentd/core/schema"
)

// TestRealCatalogues compiles what real servers list. Nearly all of it must
// compile within the bounds, and say of an empty object exactly what it lacks.
func TestRealCatalogues(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/mcp/catalogs/*.json")
	if len(files) == 0 {
		t.Skip("no catalogues beside the repository")
	}
	tools, broken := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var catalog struct {
			Tools []struct {
				Name        string          `json:"name"`
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(text, &catalog); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, tool := range catalog.Tools {
			tools++
			s, err := schema.Compile(tool.InputSchema)
			if err != nil {
				broken++
				t.Logf("%s: %s: %v", filepath.Base(file), tool.Name, err)
				continue
			}
			checkRequired(t, s, tool.Name, tool.InputSchema)
		}
	}
	if tools < 500 || broken*50 > tools {
		t.Errorf("%d of %d tools do not compile", broken, tools)
	}
	t.Logf("%d tools, %d do not compile", tools, broken)
}

func checkRequired(t *testing.T, s *schema.Schema, name string, raw json.RawMessage) {
	t.Helper()
	var m struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	missing := map[string]bool{}
	for _, issue := range s.Validate(json.RawMessage(`{}`)) {
		missing[issue.Pointer] = issue.Keyword == "required" && issue.Message != ""
	}
	for _, r := range m.Required {
		if !missing["/"+r] {
			t.Errorf("%s: {} lacks %s and nobody says so: %v", name, r, missing)
		}
	}
}
