#include "train/text/chat/read_messages.h"

#include <nlohmann/json.hpp>

#include "train/system/json.h"
#include "train/text/windows_lines.h"

namespace dikkat {
namespace {

using nlohmann::json;

constexpr std::string_view kMarksOfMessages[] = {"weight", "train", "loss"};

/// Returns "is 7", for messages.
std::string what_is(const json& value) { return concat("is ", short_text(value)); }

/// Returns the text of one part of a message's content.
std::string text_of_part(const json& part, const std::string& path, ExampleFindings& found) {
  constexpr std::string_view kUsed[] = {"type", "text"};
  constexpr const char* kExpected = R"(expected {"type": "text", "text": "..."})";
  if (!part.is_object()) {
    throw BadExample(path, concat(what_is(part), ", ", kExpected));
  }
  const json* type = find_value(part, "type");
  if (type == nullptr || *type != "text") {
    throw BadExample(path + ".type",
                     concat(type == nullptr ? "is missing" : what_is(*type), ", expected \"text\": only text is supported"));
  }
  if (read_marks(part, kMarksOfMessages, path)) {
    throw BadExample(path, R"(has "weight", "train" or "loss", which can only mark a whole message)");
  }
  check_keys(part, KeyPlace::part, kUsed, path, found);
  const json* text = find_value(part, "text");
  if (text == nullptr || !text->is_string()) {
    throw BadExample(path + ".text", concat(text == nullptr ? "is missing" : what_is(*text), ", expected a string"));
  }
  return text->get<std::string>();
}

std::string read_content(const json& message, const std::string& path, ExampleFindings& found) {
  const auto content = message.find("content");
  if (content == message.end()) {
    throw BadExample(path, "is missing, expected a string or a list of parts of text");
  }
  if (!content->is_array()) {
    if (!content->is_string()) {
      throw BadExample(path, concat(what_is(*content), ", expected a string or a list of parts of text"));
    }
    return content->get<std::string>();
  }
  std::string text;
  for (std::size_t i = 0; i < content->size(); ++i) {
    text += text_of_part((*content)[i], concat(path, '[', i, ']'), found);
  }
  return text;
}

Message read_message(const json& value, MessageSource source, const std::string& path, ExampleFindings& found) {
  constexpr std::string_view kUsed[] = {"role", "content", "weight", "train", "loss"};
  if (!value.is_object()) {
    throw BadExample(path, concat(what_is(value), R"(, expected {"role": ..., "content": ...})"));
  }
  check_keys(value, KeyPlace::message, kUsed, path, found);  // first: a message with tool calls may lack a content
  const json* role = find_value(value, "role");
  const bool is_system = role != nullptr && (*role == "system" || (source == MessageSource::request && *role == "developer"));
  if (!is_system && (role == nullptr || (*role != "user" && *role != "assistant"))) {
    throw BadExample(path + ".role",
                     concat(role == nullptr ? "is missing" : what_is(*role), R"(, expected "system", "user" or "assistant")"));
  }
  Message message{.role = is_system ? "system" : role->get<std::string>(), .content = read_content(value, path + ".content", found)};
  message.learn = read_marks(value, kMarksOfMessages, path);
  if (message.learn) {
    (*message.learn ? found.learnt_anyway : found.context_only) += message.role == "assistant" && *message.learn ? 0 : 1;
  }
  found.windows_lines += has_windows_lines(message.content) ? 1 : 0;
  return message;
}

}  // namespace

std::vector<Message> read_messages(const json& list, MessageSource source, const std::string& path, ExampleFindings& found) {
  if (!list.is_array()) {
    throw BadExample(path, concat(what_is(list), R"(, expected a list of {"role": ..., "content": ...})"));
  }
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    messages.push_back(read_message(list[i], source, concat(path, '[', i, ']'), found));
  }
  return messages;
}

}  // namespace dikkat
