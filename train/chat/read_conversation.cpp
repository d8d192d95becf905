#include "train/chat/conversation.h"

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/text/json_line.h"
#include "train/text/nearest_word.h"

namespace dikkat {
namespace {

using nlohmann::json;

std::string names_of_fields(const json& object) {
  constexpr std::size_t kMost = 10;
  std::string names;
  std::size_t shown = 0;
  for (const auto& [key, value] : object.items()) {
    if (shown++ == kMost) {
      append_to(names, concat(" and ", object.size() - kMost, " more"));
      break;
    }
    append_to(names, concat(names.empty() ? "" : ", ", json(key).dump()));
  }
  return names.empty() ? "none" : names;
}

std::string text_of(const json& object, const char* field, const std::string& where) {
  const auto found = object.find(field);
  require_input(found != object.end(), where, " has no \"", field, "\", only: ", names_of_fields(object));
  require_input(found->is_string(), where, ": \"", field, "\" is a JSON ", found->type_name(), ", expected a string");
  return found->get<std::string>();
}

Message read_message(const json& value, std::size_t number, const std::vector<Message>& before) {
  const std::string where = concat("message ", number + 1);
  require_input(value.is_object(), where, " is a JSON ", value.type_name(), ", expected an object with \"role\" and \"content\"");
  Message message{.role = text_of(value, "role", where), .content = text_of(value, "content", where)};
  require_input(message.role == "system" || message.role == "user" || message.role == "assistant", where, " has the role \"", message.role,
                "\", expected system, user or assistant");
  require_input(message.role != "system" || before.empty(), where, " has the role system, which only the first message may have");
  return message;
}

}  // namespace

bool is_conversation(std::string_view text, const std::string& text_field) {
  const json object = json::parse(text, nullptr, false);
  return object.is_object() && (text_field == "text" || !object.contains(text_field)) &&
         (object.contains("messages") || (object.contains("prompt") && object.contains("completion")));
}

std::string unknown_fields(std::string_view text, const std::string& text_field) {
  const json object = json::parse(text, nullptr, false);
  const std::string_view known[] = {"messages", "prompt", "completion", text_field};
  std::string meant;
  for (const auto& [key, value] : object.items()) {
    if (const std::string_view nearest = nearest_word(known, key); meant.empty() && !nearest.empty() && nearest != key) {
      meant = concat("; did you mean \"", nearest, "\"?");
    }
  }
  return concat(object.empty() ? "has no fields" : concat(object.size() == 1 ? "has the field " : "has the fields ", names_of_fields(object)),
                "; expected \"messages\", \"prompt\" and \"completion\", or \"", text_field, "\" (data.text_field)", meant);
}

Conversation read_conversation(std::string_view text, const std::string& text_field) {
  const json object = parse_json_line(text);
  require_input(object.is_object(), "is a JSON ", object.type_name(), ", expected an object on each line");
  Conversation conversation;
  if (const auto messages = object.find("messages"); messages != object.end()) {
    require_input(messages->is_array(), "\"messages\" is a JSON ", messages->type_name(), ", expected a list");
    for (const json& message : *messages) {
      conversation.messages.push_back(read_message(message, conversation.messages.size(), conversation.messages));
    }
    bool answered = false;
    for (const Message& message : conversation.messages) {
      answered |= message.role == "assistant";
    }
    require_input(answered, "has no message of the role assistant, so there is nothing to learn");
  } else if (object.contains("prompt") || object.contains("completion")) {
    conversation.messages = {{"user", text_of(object, "prompt", "the line")}, {"assistant", text_of(object, "completion", "the line")}};
  } else if (object.contains(text_field)) {
    conversation.text = text_of(object, text_field.c_str(), "the line");
  } else {
    fail_input(unknown_fields(text, text_field));
  }
  return conversation;
}

}  // namespace dikkat
