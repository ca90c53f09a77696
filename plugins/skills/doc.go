// Package skills lets people and plugins teach agents how to do something:
// a skill is a text with a name and a description. Models see names and
// descriptions in the tool skill and read a text when they need it.
//
//	.agentd/skills/release/SKILL.md:
//	---
//	name: release
//	description: How this project is released. Use it before tagging a version.
//	---
//	1. Run the checks ...
//
// Skills come from `<workspace>/.agentd/skills`, from `~/.agentd/skills` and
// from plugins, which offer theirs through [core.Skills]. Of one name the
// first of these counts. A skill of the workspace is read only with the exact
// content that a person accepted ([core.Trust]); without anybody to ask about
// trust none is.
//
// # Life cycle and concurrency
//
// The folders are looked through when the plugin starts, then every two
// seconds and at each call of the tool, so that a changed file counts at once.
// The tool exists while there is a skill. Readers work on an immutable
// catalogue.
//
// # Rough edges
//
// Folders are polled, not watched: a dozen small files every two seconds cost
// less than getting symbolic links, renames and network file systems right.
package skills
