package core

// Skill is a text that tells a model how to do something.
type Skill struct {
	Name        string
	Description string
	Text        string
}

// SkillSet collects skills that plugins bring along.
type SkillSet interface {
	// Add offers a skill, as an effect of c's fiber. A name that is taken is
	// an error.
	Add(c *Context, s Skill) error
}

// Skills is the service of the SkillSet.
var Skills = NewService[SkillSet]("skills")
