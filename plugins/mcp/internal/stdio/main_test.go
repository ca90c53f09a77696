package stdio

import (
	"testing"

	"github.com/agentd-host/agentd/plugins/mcp/internal/fake"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	fake.Main()
	goleak.VerifyTestMain(m)
}
