#include "train/chat/render_variables.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/markup.h"
#include "train/chat/template/template.h"
#include "train/system/json.h"

namespace dikkat {

ChatText render_variables(const std::string& source, const nlohmann::ordered_json& variables, const Tokenizer& tokenizer,
                          const std::string& date) {
  const auto* const messages = variables.is_object() ? find_value(variables, "messages") : nullptr;
  require_input(messages != nullptr && messages->is_array(),
                R"(has no list of messages, expected {"messages": [{"role": ..., "content": ...}]})");
  // Defaults, and then what is given.
  constexpr jinja::Origin kInput = 1;
  std::vector<std::pair<jinja::MarkedText, jinja::Value>> all;
  const auto set = [&](std::string_view name, jinja::Value value) {
    std::erase_if(all, [&](const auto& one) { return one.first.bytes() == name; });
    all.emplace_back(jinja::MarkedText(name), std::move(value));
  };
  for (const char* name : {"tools", "documents"}) {
    set(name, jinja::Value(nullptr));
  }
  set("add_generation_prompt", jinja::Value(false));
  for (const auto& [name, token] : special_names(tokenizer)) {
    set(name, jinja::Value(token));
  }
  std::string day = date;
  for (const auto& [name, value] : variables.items()) {
    if (name == "date") {
      require_input(value.is_string(), "\"date\" is ", short_text(value), ", expected a day such as \"2026-03-09\"");
      day = value.get<std::string>();
    } else {
      set(name, jinja::Value::from_json(value, name.ends_with("_token") ? jinja::kFromTemplate : kInput));
    }
  }
  const jinja::Value with = jinja::Value::dict(std::move(all));
  return chat_text(jinja::Template(source).render(*with.dict(), jinja::CalendarDate::parse(day)));
}

}  // namespace dikkat
