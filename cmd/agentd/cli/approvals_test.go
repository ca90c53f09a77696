package cli

import (
	"strings"
	"testing"

	"github.com/agentd-host/agentd/core"
)

func TestTheListOfQuestionsSaysWhatIsKeptAndHowToSeeAll(t *testing.T) {
	open := []core.Approval{{
		ID: "Q1", Tool: "x", Args: []byte(`{"command":"` + strings.Repeat("a", 5000) + `"}`), Saved: "/state/grants.json",
		Answers: []core.AnswerKind{core.AnswerOnce, core.AnswerAlways, core.AnswerReject},
	}}
	var short, full strings.Builder
	printApprovals(&short, open, false)
	printApprovals(&full, open, true)
	for _, want := range []string{"once · always · reject\n", "covered by always: x\n", "saved by always in /state/grants.json\n", "; --full shows everything\n"} {
		if !strings.Contains(short.String(), want) {
			t.Errorf("%q is missing in\n%s", want, short.String())
		}
	}
	if strings.Contains(full.String(), "cut:") {
		t.Error("--full cuts")
	}
}
