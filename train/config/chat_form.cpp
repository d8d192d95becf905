#include "train/config/chat_form.h"

#include <ctime>

#include "autograd/base/error.h"
#include "train/chat/template/template_error.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

constexpr index kMostBytes = index{1} << 20;  // of a template

}  // namespace

ChatTemplate chat_form(const ChatConfig& chat, const Tokenizer& tokenizer, const std::string& where, const char* how) {
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

void read_template_file(ChatConfig& chat, const char* name) {
  if (value_named<TemplateName>(chat.template_name)) {
    return;
  }
  try {
    chat.jinja = read_bytes(chat.template_name, kMostBytes);
  } catch (const Error& error) {
    fail_input(name, " is \"", chat.template_name, "\", expected auto, chatml, llama3, plain, or a template's file: ", error.what());
  }
  chat.template_name = name_of(TemplateName::own);
}

void settle_date(ChatConfig& chat) {
  if (chat.date.empty() && chat.jinja.find("strftime_now") != std::string::npos) {
    chat.date = today();
  }
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &local)};
}

}  // namespace dikkat
