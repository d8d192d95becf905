#include "train/cli/chosen_template.h"

#include "autograd/base/error.h"

namespace dikkat {

void add_template(Command& command, TemplateArguments& arguments) {
  command.text("--template", arguments.name, "NAME", "How the conversation is written: auto, chatml, llama3, plain");
  command.any_text("--system", arguments.system, "TEXT", "The system message that the conversation begins with");
}

ChatTemplate template_of(const TemplateArguments& arguments, const TrainedModel& trained) {
  const auto wanted = value_named<TemplateName>(arguments.name);
  require_input(wanted.has_value(), "--template is ", arguments.name, ", expected auto, chatml, llama3 or plain");
  const ChatConfig& of_run = trained.source.config().chat;
  ChatTemplate form;
  const ModelFiles* files = trained.source.files();
  if (*wanted == TemplateName::automatic && files != nullptr && !files->chat_template().empty()) {
    form = known_template(files->chat_template(), *trained.tokenizer, files->path().string(), " with --template chatml, llama3 or plain");
  } else {
    form = chat_template(*wanted == TemplateName::automatic ? of_run.template_name : *wanted, *trained.tokenizer);
    form.system = of_run.system;
  }
  if (arguments.system) {
    form.system = *arguments.system;
  }
  return form;
}

}  // namespace dikkat
