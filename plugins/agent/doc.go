// Package agent runs turns: a message goes in, the model is called, its tool
// calls run, their results go back, until the model stops or a budget does.
//
// It is two plugins. [Plugin] is one agent: a name, a model, a prompt,
// budgets. Each entry of agent.yml loads it once:
//
//	plugins:
//	  agent: {model: auto}
//	  agent:reader: {model: openai/gpt-5-mini, budgets: {steps: 10}}
//
// [Hub] is what all of them share: the services core.Agents, core.Models and
// core.Background, and the sessions that live in the process while no plugin
// provides core.Sessions. The program loads it once, before and apart from
// agent.yml; it has no entry there. So the order of the entries does not
// matter: an adapter or an agent that comes first finds the services, one that
// comes later joins, and removing any of them leaves the others alone.
//
// The hub keeps no list of agents or models. Each of them listens to a private
// event and answers with itself; the kernel thereby keeps the order of
// agent.yml, and removes whatever unloads.
//
// # Life of a turn
//
// A turn holds a lease on its agent and on the session store, so that an
// unload waits for it within the host's grace and then cancels it. A new
// config is taken in place: the running turn keeps the settings that it began
// with, the next one has the new ones. Models are looked up anew at each step,
// so that a changed key or address works from the next step on.
//
// Turns of one session run one after the other. Turns of different sessions
// run side by side. Everything that is said in a turn is written to the
// session before it is acted on, so that a session can always go on, whatever
// was cut off.
package agent
