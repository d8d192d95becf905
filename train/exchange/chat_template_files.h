#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// The chat templates that come with another program's model, in the Jinja language.
struct ChatTemplateFiles {
  std::string text{};                 // the default template; empty if the model has none
  std::vector<std::string> others{};  // names of the other templates, such as "tool_use", which are dropped
};

/// Reads the chat templates of a Hugging Face model folder: chat_template.jinja and additional_chat_templates/, then tokenizer_config.json
/// (a string, or a list of {name, template}), then chat_template.json. Returns none if the path is not a folder. Throws InputError for
/// templates without a default one, and for a template that cannot be read: ignoring it would change how the model chats.
ChatTemplateFiles chat_templates_in(const std::filesystem::path& folder);

/// Reads the chat templates of a GGUF file (tokenizer.chat_template). Throws InputError for the same reasons.
ChatTemplateFiles chat_templates_in(const WeightFile& file);

}  // namespace dikkat
