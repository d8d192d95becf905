#include "train/chat/render_variables.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/content_parts.h"
#include "train/chat/markup.h"
#include "train/chat/template/template.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the texts of a content's parts; none if some are not parts of text.
std::vector<std::string> texts_of_parts(const Json& content) {
  std::vector<std::string> texts;
  for (const Json& part : content) {
    const Json* const type = part.is_object() ? find_value(part, "type") : nullptr;
    const Json* const text = type != nullptr && *type == "text" ? find_value(part, "text") : nullptr;
    if (text == nullptr || !text->is_string()) {
      return {};
    }
    texts.push_back(text->get<std::string>());
  }
  return texts;
}

bool has_text_parts(const Json& message) {
  const Json* const content = message.is_object() ? find_value(message, "content") : nullptr;
  return content != nullptr && content->is_array() && !texts_of_parts(*content).empty();
}

}  // namespace

ChatText render_variables(const std::string& source, const Json& variables, const Tokenizer& tokenizer, const std::string& date) {
  const auto* const messages = variables.is_object() ? find_value(variables, "messages") : nullptr;
  require_input(messages != nullptr && messages->is_array(),
                R"(has no list of messages, expected {"messages": [{"role": ..., "content": ...}]})");
  // Set the defaults, and then the given variables.
  constexpr jinja::Origin kInput = 1;
  const jinja::Template program(source);
  jinja::DictItems all;
  const auto set = [&](std::string_view name, jinja::Value value) { set_item(all, name, std::move(value)); };
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
  // Render the messages with these variables.
  const CalendarDate when = CalendarDate::parse(day);
  const auto rendered = [&](jinja::Value with_messages) {
    set("messages", std::move(with_messages));
    return program.render(*jinja::Value::dict(all).dict(), when);
  };
  // Join the parts of text for roles with which the template takes a string, as in training.
  if (std::ranges::any_of(*messages, has_text_parts)) {
    const std::vector<std::string> roles = roles_with_parts(rendered);
    Json read = *messages;
    for (auto& message : read) {
      const auto* const role = has_text_parts(message) ? find_value(message, "role") : nullptr;
      if (role != nullptr && std::ranges::none_of(roles, [&](const std::string& one) { return *role == one; })) {
        message["content"] = joined_parts(texts_of_parts(message["content"]), "\n");
      }
    }
    return chat_text(rendered(jinja::Value::from_json(read, kInput)));
  }
  return chat_text(rendered(jinja::Value::from_json(*messages, kInput)));
}

}  // namespace dikkat
