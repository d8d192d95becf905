#include "train/cli/chosen_template.h"

#include "autograd/base/error.h"
#include "train/config/chat_form.h"

namespace dikkat {

void add_template(Command& command, TemplateArguments& arguments) {
  command.text("--template", arguments.name, "NAME", "Chat template: auto, chatml, llama3 or plain");
  command.any_text("--system", arguments.system, "TEXT", "System message at the beginning of the conversation");
}

ChatTemplate template_of(const TemplateArguments& arguments, const TrainedModel& trained) {
  const auto wanted = value_named<TemplateName>(arguments.name);
  require_input(wanted.has_value(), "--template is ", arguments.name, ", expected auto, chatml, llama3 or plain");
  ChatConfig chat = trained.origin.config().chat;
  if (*wanted != TemplateName::auto_) {
    chat.template_name = *wanted;
  }
  ChatTemplate form = chat_form(chat, *trained.tokenizer, trained.origin.path().string(), " with --template chatml, llama3 or plain");
  if (arguments.system) {
    form.system = *arguments.system;
  }
  return form;
}

}  // namespace dikkat
