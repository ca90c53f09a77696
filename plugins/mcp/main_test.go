package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	fake.Main()
	goleak.VerifyTestMain(m)
}

// catalogs reads what real servers listed, by name.
func catalogs(t testing.TB) map[string][]json.RawMessage {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/mcp/catalogs/*.json")
	if len(files) == 0 {
		t.Skip("no catalogues of real servers beside the repository")
	}
	out := map[string][]json.RawMessage{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		out[name[:len(name)-len(".json")]] = c.Tools
	}
	return out
}
