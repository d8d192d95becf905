#include "train/cli/chosen_template.h"

#include "autograd/base/error.h"
#include "train/config/settle_chat.h"
#include "train/data/examples/conversation_template.h"

namespace dikkat {

void add_template(Command& command, TemplateArguments& arguments) {
  command.text("--template", arguments.name, "NAME|FILE", "Chat template: auto, chatml, llama3, plain, or a file in the Jinja language")
      .note_in(arguments.given);
  command.any_text("--system", arguments.system, "TEXT", "System message at the beginning of the conversation").note_in(arguments.given);
}

ChatTemplate template_of(const TemplateArguments& arguments, const ModelOrigin& origin, const Tokenizer& tokenizer) {
  ChatConfig chat = origin.config().chat;
  std::string where = origin.path().string();
  if (arguments.name != "auto") {
    chat.template_name = arguments.name;
    where = value_named<TemplateName>(arguments.name) ? where : arguments.name;
    read_template_file(chat, "--template");
  }
  if (arguments.system) {
    chat.system = *arguments.system;
  }
  settle_date(chat);
  return conversation_template(chat, tokenizer, where, " with --template chatml, llama3 or plain");
}

}  // namespace dikkat
