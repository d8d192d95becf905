#include "train/chat/read_conversation.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/chat/read_messages.h"
#include "train/chat/read_preference.h"
#include "train/chat/text_pair_keys.h"
#include "train/system/json.h"
#include "train/system/nearest_word.h"
#include "train/text/json_line.h"
#include "train/text/windows_lines.h"

namespace dikkat {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* kHowToPrefer =
    R"(; `dikkat finetune` learns preferences from such a file (preference.method "auto", "dpo", "ipo", "orpo", "simpo" or "kto", not "none"))";
constexpr std::string_view kMarksOfLines[] = {"label", "weight", "train", "loss"};

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
  return names;
}

/// The kind of an example, recognized by its fields.
enum class ExampleKind { messages, turns, question, instruction, text, none };

ExampleKind kind_of(const json& object, const std::string& text_field) {
  const bool has_text = find_value(object, text_field) != nullptr;
  if (has_text && text_field != "text") {
    return ExampleKind::text;
  }
  if (find_value(object, "messages") != nullptr) {
    return ExampleKind::messages;
  }
  if (find_value(object, "conversations") != nullptr) {
    return ExampleKind::turns;
  }
  if (find_value(object, "prompt") != nullptr && find_value(object, "completion") != nullptr) {
    return ExampleKind::question;
  }
  if (find_value(object, "instruction") != nullptr && find_value(object, "output") != nullptr) {
    return ExampleKind::instruction;
  }
  return has_text ? ExampleKind::text : ExampleKind::none;
}

std::string text_of(const json& object, const std::string& field) {
  const json& value = object[field];
  if (!value.is_string()) {
    throw BadExample(concat('"', field, '"'), concat("is a JSON ", json_type(value), ", expected a string"));
  }
  return value.get<std::string>();
}

/// Checks that a system message is the first, and that there is an answer, if there must be one.
void check_order(const std::vector<Message>& messages, const char* path, bool is_answered = true) {
  bool answered = !is_answered;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    answered |= messages[i].role == "assistant";
    require_input(i == 0 || (messages[i].role != "system" && messages[i].role != "developer"), path, '[', i, "] has the role ",
                  messages[i].role, ", which only the first message may have");
  }
  require_input(answered, "has no message of the role assistant, so there is nothing to learn");
}

std::vector<Message> messages_of(const json& object, ExampleFindings& found) {
  require_input(find_value(object, "completion") == nullptr,
                "has \"messages\" and \"completion\", so it is not clear which one to learn; leave out one of the two");
  std::vector<Message> messages = read_messages(object["messages"], "messages", found);
  check_order(messages, "messages");
  return messages;
}

/// Reads an example in ShareGPT's form. Its system message may be a field of its own.
std::vector<Message> turns_of(const json& object, ExampleFindings& found, bool is_answered = true) {
  std::vector<Message> messages = read_turns(object["conversations"], "conversations", found);
  if (const std::string system = find_value(object, "system") != nullptr ? text_of(object, "system") : ""; !system.empty()) {
    messages.insert(messages.begin(), {.role = "system", .content = system});
  }
  check_order(messages, "conversations", is_answered);
  return messages;
}

/// Reads an example of a prompt and its completion.
std::vector<Message> question_of(const json& object) {
  std::vector<Message> messages;
  messages.push_back({"user", text_of(object, "prompt")});
  messages.push_back({"assistant", text_of(object, "completion")});
  return messages;
}

/// Reads an example in Alpaca's form: an instruction, an input that may be empty, and an output. "history" is a list of earlier
/// [instruction, output].
std::vector<Message> instruction_of(const json& object, bool is_answered = true) {
  std::vector<Message> messages;
  if (const std::string system = find_value(object, "system") != nullptr ? text_of(object, "system") : ""; !system.empty()) {
    messages.push_back({.role = "system", .content = system});
  }
  if (const json* const history = find_value(object, "history")) {
    for (const json& turn : *history) {
      const bool is_pair = turn.is_array() && turn.size() == 2 && turn[0].is_string() && turn[1].is_string();
      require_input(is_pair, "\"history\" has ", short_text(turn), ", expected pairs of texts");
      messages.push_back({.role = "user", .content = turn[0].get<std::string>()});
      messages.push_back({.role = "assistant", .content = turn[1].get<std::string>()});
    }
  }
  const std::string input = find_value(object, "input") != nullptr ? text_of(object, "input") : "";
  const std::string instruction = text_of(object, "instruction");
  messages.push_back({.role = "user", .content = input.empty() ? instruction : instruction + '\n' + input});
  if (is_answered) {
    messages.push_back({.role = "assistant", .content = text_of(object, "output")});
  }
  return messages;
}

/// Returns the keys from which an example of this kind is read.
std::vector<std::string_view> used_keys(ExampleKind kind, const std::string& text_field) {
  std::vector<std::string_view> used(std::begin(kMarksOfLines), std::end(kMarksOfLines));
  switch (kind) {
    case ExampleKind::messages: used.insert(used.end(), {"messages", "tools"}); break;
    case ExampleKind::turns: used.insert(used.end(), {"conversations", "system", "tools"}); break;
    case ExampleKind::question: used.insert(used.end(), {"prompt", "completion"}); break;
    case ExampleKind::instruction: used.insert(used.end(), {"instruction", "input", "output", "system", "history"}); break;
    case ExampleKind::text: used.emplace_back(text_field); break;
    case ExampleKind::none: break;
  }
  return used;
}

/// Returns whether a message is an answer without text, reasoning and calls.
bool is_empty_answer(const Message& message) {
  return message.role == "assistant" && message.fields.empty() && message.content.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

bool is_conversation(const json& object, const std::string& text_field) {
  const ExampleKind kind = object.is_object() ? kind_of(object, text_field) : ExampleKind::none;
  return kind != ExampleKind::text && kind != ExampleKind::none;
}

std::string_view label_of(const json& object) {
  for (const char* key : {"label", "labels"}) {
    if (find_value(object, key) != nullptr) {
      return key;
    }
  }
  return "";
}

std::string how_to_label(std::string_view key) { return concat("`dikkat finetune MODEL --data FILE --labels ", key, "` learns labels"); }

std::string unknown_fields(const json& object, const std::string& text_field) {
  if (preference_kind(object) == PreferenceKind::pair) {
    return concat("is a pair of answers (\"chosen\" and \"rejected\"), expected a text or a conversation", kHowToPrefer);
  }
  const std::string_view known[] = {"messages", "conversations", "prompt", "completion", "instruction", "output", text_field};
  std::string meant;
  for (const auto& [key, value] : object.items()) {
    if (const std::string_view nearest = nearest_word(known, key); meant.empty() && !nearest.empty() && nearest != key) {
      meant = concat("; did you mean \"", nearest, "\"?");
    }
  }
  const auto has_one = [&](const auto& keys) {
    return std::ranges::any_of(keys, [&](auto key) { return find_value(object, key) != nullptr; });
  };
  return concat(
      object.empty() ? "has no fields" : concat(object.size() == 1 ? "has the field " : "has the fields ", names_of_fields(object)),
      "; expected \"messages\", \"prompt\" and \"completion\", \"conversations\" (ShareGPT), \"instruction\" and \"output\" (Alpaca), or "
      "\"",
      text_field, "\" (data.text_field, --text-field)", meant, has_one(kAnchorKeys) && has_one(kPositiveKeys) ? kHowToEmbed : "");
}

Conversation read_conversation(std::string_view line, const std::string& text_field, ExampleFindings& found) {
  return to_conversation(parse_json_line<json>(line), text_field, found);
}

Conversation to_conversation(const json& object, const std::string& text_field, ExampleFindings& found) {
  require_input(object.is_object(), "is a JSON ", json_type(object), ", expected an object on each line");
  // Recognize the kind of example, and refuse unsupported keys.
  const ExampleKind kind = kind_of(object, text_field);
  if (kind == ExampleKind::none && preference_kind(object) == PreferenceKind::pair) {
    fail_input(unknown_fields(object, text_field));  // before its keys are refused one by one
  }
  check_keys(object, KeyPlace::line, used_keys(kind, text_field), "", found);
  // Read the fields of this kind.
  Conversation example;
  switch (kind) {
    case ExampleKind::messages:
    case ExampleKind::turns:
      example.messages = kind == ExampleKind::messages ? messages_of(object, found) : turns_of(object, found);
      example.tools = read_tools(object, "tools");
      break;
    case ExampleKind::question:
    case ExampleKind::instruction:
      require_input(preference_kind(object) != PreferenceKind::judged || (object["prompt"].is_string() && object["completion"].is_string()),
                    "is a judged answer (\"label\") with lists of messages, expected texts as \"prompt\" and \"completion\"", kHowToPrefer);
      example.messages = kind == ExampleKind::instruction ? instruction_of(object) : question_of(object);
      found.windows_lines += std::ranges::count_if(example.messages, [](const Message& one) { return has_windows_lines(one.content); });
      break;
    case ExampleKind::text:
      if (const std::string_view label = label_of(object); !label.empty()) {
        throw BadExample(std::string(label), concat("is given beside a text: ", how_to_label(label),
                                                    "; leave it out to train on the text only, or leave a text out of training with "
                                                    "\"train\": false"));
      }
      example.text = text_of(object, text_field);
      found.windows_lines += has_windows_lines(example.text) ? 1 : 0;
      break;
    case ExampleKind::none: fail_input(unknown_fields(object, text_field));
  }
  // Apply the line's marks, and count empty answers.
  example.learn = read_marks(object, kMarksOfLines, "").value_or(true);
  found.left_out += example.learn ? 0 : 1;
  found.empty_answers += example.learn ? std::ranges::count_if(example.messages, is_empty_answer) : 0;
  return example;
}

Conversation read_unanswered(const json& object, ExampleFindings& found) {
  // Read the field that has the question.
  Conversation asked{.tools = read_tools(object, "tools")};
  const json* const messages = find_value(object, "messages");
  const json* const prompt = find_value(object, "prompt");
  if (messages != nullptr) {
    asked.messages = read_messages(*messages, "messages", found);
  } else if (find_value(object, "conversations") != nullptr) {
    asked.messages = turns_of(object, found, false);
  } else if (find_value(object, "instruction") != nullptr) {
    asked.messages = instruction_of(object, false);
  } else if (prompt != nullptr && prompt->is_array()) {
    asked.messages = read_messages(*prompt, "prompt", found);
  } else {
    require_input(prompt != nullptr, "has ", object.empty() ? "no fields" : concat("only ", names_of_fields(object)),
                  R"(; expected "messages", "prompt", "conversations" (ShareGPT) or "instruction" (Alpaca))");
    asked.text = text_of(object, "prompt");
    require_input(!asked.text.empty(), R"("prompt" is empty, expected a text to answer)");
    return asked;
  }
  // Check that something is asked.
  require_input(!asked.messages.empty(), "is a conversation without messages, expected one message or more");
  check_order(asked.messages, "messages", false);
  const std::string& last = asked.messages.back().role;
  require_input(last == "user" || last == "tool", "ends with a message of the role ", last,
                ", expected one of the user, which the answer follows");
  return asked;
}

}  // namespace dikkat
