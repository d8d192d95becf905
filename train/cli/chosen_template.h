#pragma once

#include <optional>
#include <string>
#include <vector>

#include "train/chat/chat_template.h"
#include "train/cli/command.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// The values of --template and --system, and which of them were given.
struct TemplateArguments {
  std::string name = "auto";
  std::optional<std::string> system{};
  std::vector<std::string> given{};
};
void add_template(Command& command, TemplateArguments& arguments);

/// Returns the chat template: the one that was asked for, that of the run, or the model's own. Throws InputError if there is none.
ChatTemplate template_of(const TemplateArguments& arguments, const ModelOrigin& origin, const Tokenizer& tokenizer);
inline ChatTemplate template_of(const TemplateArguments& arguments, const TrainedModel& trained) {
  return template_of(arguments, trained.origin, *trained.tokenizer);
}

}  // namespace dikkat
