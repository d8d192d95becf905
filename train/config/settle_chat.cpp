#include "train/config/settle_chat.h"

#include <ctime>

#include "autograd/base/error.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

constexpr index kMostBytes = index{1} << 20;  // of a template

}  // namespace

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
