#pragma once

#include <optional>
#include <string>

#include "train/cli/command.h"
#include "train/model/trained_model.h"
#include "train/text/chat/chat_template.h"

namespace dikkat {

/// How conversations are written: --template and --system.
struct TemplateArguments {
  std::string name = "auto";
  std::optional<std::string> system{};
};
void add_template(Command& command, TemplateArguments& arguments);

/// The template to talk in: the one that was asked for, that of the run, or the model's own. Throws InputError where there is none.
ChatTemplate template_of(const TemplateArguments& arguments, const TrainedModel& trained);

}  // namespace dikkat
