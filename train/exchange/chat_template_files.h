#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// The chat templates that come with another program's model, in the Jinja language.
struct ChatTemplateFiles {
  std::string text{};                 // of the default template; empty: the model has none
  std::vector<std::string> others{};  // the names of further ones, such as "tool_use", which are not kept
};

/// Those of a Hugging Face model folder. Looks into chat_template.jinja and additional_chat_templates/, then tokenizer_config.json (a text,
/// or a list of {name, template}), then chat_template.json. A path that is no folder has none. Throws InputError where there are templates
/// but none of them is the default one, and for anything in their place that is not a template: a model with a template that cannot be read
/// is not one without.
ChatTemplateFiles chat_templates_in(const std::filesystem::path& folder);

/// Those of a GGUF file (tokenizer.chat_template). Throws InputError as above.
ChatTemplateFiles chat_templates_in(const WeightFile& file);

}  // namespace dikkat
