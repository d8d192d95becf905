#include "train/data/examples/conversation_template.h"

#include "autograd/base/error.h"
#include "train/chat/template/template_error.h"

namespace dikkat {

ChatTemplate conversation_template(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how) {
  const auto name = value_named<TemplateName>(chat.template_name);
  require_input(name.has_value(), "chat.template is \"", chat.template_name,
                "\", expected auto, chatml, llama3, plain, own or a template's file");
  try {
    return chat_template(*name, tokenizer, chat.jinja,
                         {.system = chat.system, .date = chat.date, .others = chat.variables, .parts = chat.content_parts});
  } catch (const jinja::TemplateError& error) {
    fail_input("the chat template in ", where, " cannot be used: ", error.what(), "; choose the most similar one", how);
  }
}

}  // namespace dikkat
