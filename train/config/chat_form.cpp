#include "train/config/chat_form.h"

namespace dikkat {

ChatTemplate chat_form(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how) {
  const bool is_models_own = chat.template_name == TemplateName::auto_ && !chat.jinja.empty();
  ChatTemplate form = is_models_own ? known_template(chat.jinja, tokenizer, where, how) : chat_template(chat.template_name, tokenizer);
  if (!is_models_own || !chat.system.empty()) {
    form.system = chat.system;
  }
  return form;
}

}  // namespace dikkat
