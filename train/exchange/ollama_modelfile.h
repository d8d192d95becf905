#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/chat/chat_template.h"
#include "train/config/config.h"

namespace dikkat {

/// A chat template in Go's text/template, which Ollama uses, and the system message that the original adds to a conversation without one.
struct GoTemplate {
  std::string text;
  std::string system{};
};

/// Returns a template in Go's language that writes the same texts as `form`. Returns nullopt if no known form does: Jinja cannot be
/// translated in general. The begin token is left out, because Ollama adds it.
std::optional<GoTemplate> go_template(const ChatTemplate& form);

/// The contents of a Modelfile.
struct OllamaModel {
  std::string gguf;                     // the file's name, next to the Modelfile
  std::optional<GoTemplate> form{};     // without it Ollama tries to recognize the template in the GGUF file
  std::vector<std::string> stops{};     // strings that end an answer
  std::optional<std::string> system{};  // replaces that of the template
  AnswerSampling sampling{};
  index context = 0;
};

/// Returns the text of a Modelfile for `ollama create`.
std::string ollama_modelfile(const OllamaModel& model);

}  // namespace dikkat
