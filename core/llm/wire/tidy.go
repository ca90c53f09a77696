package wire

import (
	"maps"
	"slices"
	"strings"
)

// tidyType keeps the types that there are.
func tidyType(s map[string]any) {
	switch t := s["type"].(type) {
	case nil:
		delete(s, "type")
	case string:
		if !slices.Contains(jsonTypes, t) {
			delete(s, "type")
		}
	case []any:
		kept := slices.DeleteFunc(slices.Clone(t), func(x any) bool {
			name, _ := x.(string)
			return !slices.Contains(jsonTypes, name)
		})
		if len(kept) == 0 {
			delete(s, "type")
		} else {
			s["type"] = kept
		}
	default:
		delete(s, "type")
	}
}

// tidyKeywords drops keywords whose values mean nothing to the provider.
func (d Dialect) tidyKeywords(s map[string]any) {
	if f, ok := s["format"]; ok {
		if name, _ := f.(string); !slices.Contains(d.Formats, name) {
			delete(s, "format")
		}
	}
	if e, ok := s["enum"]; ok {
		if list, _ := e.([]any); len(list) == 0 {
			delete(s, "enum")
		}
	}
	if p, ok := s["pattern"]; ok {
		text, isText := p.(string)
		if !isText || strings.Contains(text, "(?=") || strings.Contains(text, "(?!") || strings.Contains(text, "(?<") {
			delete(s, "pattern")
		}
	}
	for _, k := range []string{"description", "title", "$ref"} {
		if v, ok := s[k]; ok {
			if _, isText := v.(string); !isText {
				delete(s, k)
			}
		}
	}
	if r, ok := s["required"]; ok {
		if _, isList := r.([]any); !isList {
			delete(s, "required")
		}
	}
}

// keepRequired keeps of the required names those that are properties.
func keepRequired(s map[string]any) {
	list, ok := s["required"].([]any)
	if !ok {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	kept := []any{}
	seen := map[string]bool{}
	for _, x := range list {
		name, _ := x.(string)
		if _, there := properties[name]; there && !seen[name] {
			seen[name] = true
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		delete(s, "required")
		return
	}
	s["required"] = kept
}

// foldRoot takes unions away from the root, which providers want to be a plain
// object: the properties of all branches, and as required what all branches
// of a union, or any part of an intersection, require. The registered schema
// still decides what runs.
func foldRoot(root map[string]any) {
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		branches, ok := root[k].([]any)
		delete(root, k)
		if !ok {
			continue
		}
		foldBranches(root, branches, k == "allOf")
	}
	for _, k := range []string{"not", "if", "then", "else", "enum", "const", "$ref"} {
		if ref, isRef := root[k].(string); isRef && k == "$ref" {
			inline(root, ref)
		}
		delete(root, k)
	}
}

func foldBranches(root map[string]any, branches []any, all bool) {
	properties, _ := root["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	counts := map[string]int{}
	for _, x := range branches {
		branch, _ := x.(map[string]any)
		if ref, ok := branch["$ref"].(string); ok {
			branch = lookup(root, ref)
		}
		own, _ := branch["properties"].(map[string]any)
		for name, sub := range own {
			if _, there := properties[name]; !there {
				properties[name] = sub
			}
		}
		required, _ := branch["required"].([]any)
		for _, r := range required {
			if name, ok := r.(string); ok {
				counts[name]++
			}
		}
	}
	root["properties"] = properties
	required, _ := root["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if all || counts[name] == len(branches) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		root["required"] = required
	}
}

// inline puts a referenced definition in place of the root.
func inline(root map[string]any, ref string) {
	for k, v := range lookup(root, ref) {
		if _, there := root[k]; !there {
			root[k] = v
		}
	}
}

// lookup follows a local reference.
func lookup(root map[string]any, ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := root
	for _, step := range strings.Split(path, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		at, _ = at[step].(map[string]any)
	}
	return at
}

func hasType(s map[string]any, want string) bool {
	switch t := s["type"].(type) {
	case string:
		return t == want
	case []any:
		return slices.Contains(t, any(want))
	}
	return false
}
