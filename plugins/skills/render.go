package skills

import "encoding/json"

// renderCall names the skill, for people.
func renderCall(args json.RawMessage) string {
	var in input
	if json.Unmarshal(args, &in) != nil || !legalName.MatchString(in.Name) {
		return "skill"
	}
	return "skill " + in.Name
}
