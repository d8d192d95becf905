#include "train/chat/read_messages.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/chat/content_parts.h"
#include "train/system/json.h"
#include "train/text/windows_lines.h"

namespace dikkat {
namespace {

using json = nlohmann::ordered_json;  // templates print objects in the order of their keys

constexpr std::string_view kMarksOfMessages[] = {"weight", "train", "loss"};

std::optional<json> try_ordered(const std::string& text) {
  try {
    return parse_json<json>(text);
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

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

/// Reads a content into `message`: a string, or a list of parts. An assistant's message with tool calls needs none.
void read_content(const json& object, bool may_be_missing, const std::string& path, ExampleFindings& found, Message& message) {
  const json* const content = find_value(object, "content");
  if (content == nullptr && may_be_missing) {
    return;
  }
  if (content == nullptr || (!content->is_array() && !content->is_string())) {
    throw BadExample(path, concat(content == nullptr ? "is missing" : what_is(*content), ", expected a string or a list of parts of text"));
  }
  if (content->is_string()) {
    message.content = content->get<std::string>();
    return;
  }
  for (std::size_t i = 0; i < content->size(); ++i) {
    message.parts.push_back(text_of_part((*content)[i], concat(path, '[', i, ']'), found));
  }
  message.content = joined_parts(message.parts, "\n");
}

/// Checks a list of calls: {"type": "function", "function": {"name", "arguments"}}. Arguments are an object, or its text as in OpenAI's
/// protocol. The text becomes an object, which templates expect.
json read_tool_calls(const json& list, const std::string& path) {
  if (!list.is_array() || list.empty()) {
    throw BadExample(path, concat(what_is(list), R"(, expected a list of {"function": {"name": ..., "arguments": ...}})"));
  }
  json calls = json::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = concat(path, '[', i, ']');
    // Find the function and its name.
    const json* const function = list[i].is_object() ? find_value(list[i], "function") : nullptr;
    const json* const name = function != nullptr && function->is_object() ? find_value(*function, "name") : nullptr;
    if (name == nullptr || !name->is_string()) {
      throw BadExample(place, concat(what_is(list[i]), R"(, expected {"function": {"name": ..., "arguments": {...}}})"));
    }
    // Parse arguments that are the text of an object.
    json arguments = function->value("arguments", json::object());
    if (arguments.is_string()) {
      const std::optional<json> parsed = try_ordered(arguments.get_ref<const std::string&>());
      if (!parsed || !parsed->is_object()) {
        throw BadExample(place + ".function.arguments", concat(what_is(arguments), ", expected a JSON object or its text"));
      }
      arguments = *parsed;
    }
    if (!arguments.is_object()) {
      throw BadExample(place + ".function.arguments", concat(what_is(arguments), ", expected a JSON object or its text"));
    }
    // Build the call in the form that templates expect.
    json call = json::object();
    if (const json* const id = find_value(list[i], "id")) {
      call["id"] = *id;
    }
    call["type"] = "function";
    call["function"] = {{"name", *name}, {"arguments", arguments}};
    calls.push_back(std::move(call));
  }
  return calls;
}

/// Returns the fields of a message that a template may read, as Message::fields.
std::string read_fields(const json& message, const std::string& role, const std::string& path) {
  json fields = json::object();
  const auto expect_role = [&](const char* key, const char* expected) {
    if (role != expected) {
      throw BadExample(concat(path, '.', key),
                       concat("is given in a message of the role \"", role, "\", expected only in those of \"", expected, '"'));
    }
  };
  for (const auto& [key, role_of_key] : {std::pair("reasoning_content", "assistant"), std::pair("tool_call_id", "tool")}) {
    if (const json* const value = find_value(message, key); value != nullptr && !is_nothing(*value)) {
      expect_role(key, role_of_key);
      if (!value->is_string()) {
        throw BadExample(concat(path, '.', key), concat(what_is(*value), ", expected a string"));
      }
      fields[key] = *value;
    }
  }
  if (const json* const calls = find_value(message, "tool_calls"); calls != nullptr && !is_nothing(*calls)) {
    expect_role("tool_calls", "assistant");
    fields["tool_calls"] = read_tool_calls(*calls, path + ".tool_calls");
  }
  if (const json* const name = find_value(message, "name"); name != nullptr && role == "tool") {
    fields["name"] = *name;
  }
  return fields.empty() ? "" : json_text(fields);
}

Message read_message(const json& value, const std::string& path, ExampleFindings& found) {
  constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};
  std::vector<std::string_view> used = {"role", "content", "weight", "train", "loss", "tool_calls", "tool_call_id", "reasoning_content"};
  if (!value.is_object()) {
    throw BadExample(path, concat(what_is(value), R"(, expected {"role": ..., "content": ...})"));
  }
  const json* const role = find_value(value, "role");
  if (role != nullptr && *role == "tool") {
    used.emplace_back("name");
  }
  check_keys(value, KeyPlace::message, used, path, found);  // first: a message with another form of calls may lack a content
  if (role == nullptr || !role->is_string() || std::ranges::find(kRoles, role->get_ref<const std::string&>()) == std::end(kRoles)) {
    throw BadExample(path + ".role", concat(role == nullptr ? "is missing" : what_is(*role),
                                            R"(, expected "system", "developer", "user", "assistant" or "tool")"));
  }
  Message message{.role = role->get<std::string>(), .content = {}};
  message.fields = read_fields(value, message.role, path);
  read_content(value, message.role == "assistant" && !message.fields.empty(), path + ".content", found, message);
  message.learn = read_marks(value, kMarksOfMessages, path);
  if (message.learn) {
    (*message.learn ? found.learned_anyway : found.context_only) += message.role == "assistant" && *message.learn ? 0 : 1;
  }
  found.windows_lines += has_windows_lines(message.content) ? 1 : 0;
  return message;
}

/// Reads a turn of ShareGPT: {"from", "value"}.
Message read_turn(const json& value, const std::string& path, ExampleFindings& found) {
  constexpr std::string_view kUsed[] = {"from", "value", "weight", "train", "loss"};
  constexpr std::pair<std::string_view, std::string_view> kRoles[] = {
      {"human", "user"},    {"user", "user"},       {"gpt", "assistant"}, {"assistant", "assistant"}, {"chatgpt", "assistant"},
      {"bot", "assistant"}, {"model", "assistant"}, {"system", "system"}, {"tool", "tool"},           {"observation", "tool"}};
  if (!value.is_object()) {
    throw BadExample(path, concat(what_is(value), R"(, expected {"from": ..., "value": ...})"));
  }
  check_keys(value, KeyPlace::message, kUsed, path, found);
  const json* const from = find_value(value, "from");
  const auto role = std::ranges::find_if(kRoles, [&](const auto& one) { return from != nullptr && *from == one.first; });
  if (role == std::end(kRoles)) {
    throw BadExample(path + ".from",
                     concat(from == nullptr ? "is missing" : what_is(*from), R"(, expected "human", "gpt", "system" or "tool")"));
  }
  const json* const text = find_value(value, "value");
  if (text == nullptr || !text->is_string()) {
    throw BadExample(path + ".value", concat(text == nullptr ? "is missing" : what_is(*text), ", expected a string"));
  }
  Message message{.role = std::string(role->second), .content = text->get<std::string>()};
  message.learn = read_marks(value, kMarksOfMessages, path);
  found.windows_lines += has_windows_lines(message.content) ? 1 : 0;
  return message;
}

/// Reads each item of a list with `read`. `form` is the form of an item, for errors.
std::vector<Message> read_list(const json& list, const std::string& path, const char* form,
                               Message (*read)(const json&, const std::string&, ExampleFindings&), ExampleFindings& found) {
  if (!list.is_array()) {
    throw BadExample(path, concat(what_is(list), ", expected a list of ", form));
  }
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list.size(); ++i) {
    messages.push_back(read(list[i], concat(path, '[', i, ']'), found));
  }
  return messages;
}

}  // namespace

std::vector<Message> read_messages(const json& list, const std::string& path, ExampleFindings& found) {
  return read_list(list, path, R"({"role": ..., "content": ...})", read_message, found);
}

std::vector<Message> read_turns(const json& list, const std::string& path, ExampleFindings& found) {
  return read_list(list, path, R"({"from": ..., "value": ...})", read_turn, found);
}

std::string read_tools(const json& object, const std::string& path) {
  const json* tools = find_value(object, "tools");
  std::optional<json> parsed;
  if (tools != nullptr && tools->is_string()) {  // some datasets keep them as text
    parsed = try_ordered(tools->get_ref<const std::string&>());
    require_input(parsed.has_value(), path, " is a text that is not JSON, expected a list of tools");
    tools = &*parsed;
  }
  if (tools == nullptr || is_nothing(*tools)) {
    return "";
  }
  if (!tools->is_array() || !std::ranges::all_of(*tools, [](const json& tool) { return tool.is_object(); })) {
    throw BadExample(path, concat(what_is(*tools), R"(, expected a list of {"type": "function", "function": {...}})"));
  }
  return json_text(*tools);
}

}  // namespace dikkat
