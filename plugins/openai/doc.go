// Package openai talks to models behind OpenAI's Chat Completions and to the
// many servers that speak the same: with baseURL it reaches Ollama, vLLM,
// llama.cpp, DeepSeek or OpenRouter.
//
//	plugins:
//	  openai: {apiKey: "${OPENAI_API_KEY:-}", model: gpt-5-mini}
//	  openai:local: {baseURL: "http://localhost:11434/v1", model: qwen3}
//
// Everything is passed explicitly: no environment variable but those that
// agent.yml names has a say. An entry is a provider under its id: the models
// above are openai/gpt-5-mini and local/qwen3.
//
// Servers differ most in how they stream tool calls; wire.Calls knows their
// ways. What a server attaches to reasoning and calls (reasoning content,
// thought signatures) is kept with the message and sent back.
package openai
