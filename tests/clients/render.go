// Renders the template of a Modelfile as Ollama does, with Go's text/template: render MODELFILE MESSAGES.json
package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func between(text, begin, end string) string {
	_, rest, found := strings.Cut(text, begin)
	if !found {
		return ""
	}
	part, _, _ := strings.Cut(rest, end)
	return part
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	modelfile, err := os.ReadFile(os.Args[1])
	must(err)
	talk, err := os.ReadFile(os.Args[2])
	must(err)
	var messages []message
	must(json.Unmarshal(talk, &messages))
	text := string(modelfile)
	// Ollama puts the Modelfile's system message before a conversation without one.
	if system := between(text, "SYSTEM \"\"\"", "\"\"\""); system != "" && (len(messages) == 0 || messages[0].Role != "system") {
		messages = append([]message{{"system", system}}, messages...)
	}
	form, err := template.New("").Parse(between(text, "TEMPLATE \"\"\"", "\"\"\""))
	must(err)
	must(form.Execute(os.Stdout, map[string]any{"Messages": messages, "System": "", "Prompt": "", "Response": ""}))
}
