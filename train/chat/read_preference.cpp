#include "train/chat/read_preference.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/chat/read_messages.h"
#include "train/system/json.h"
#include "train/text/json_line.h"
#include "train/text/windows_lines.h"

namespace dikkat {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view kLineMarks[] = {"weight", "train", "loss"};

/// Reads a string, which becomes a message of `role`, or a list of messages, or one message.
std::vector<Message> messages_of(const json& object, const char* key, const char* role, ExampleFindings& found) {
  const json& value = object[key];
  if (value.is_string()) {
    found.windows_lines += has_windows_lines(value.get_ref<const std::string&>()) ? 1 : 0;
    return {{.role = role, .content = value.get<std::string>()}};
  }
  if (!value.is_array() && !value.is_object()) {
    throw BadExample(key, concat("is ", short_text(value), ", expected a text or a list of messages"));
  }
  std::vector<Message> messages = read_messages(value.is_array() ? value : json::array({value}), key, found);
  if (messages.empty()) {
    throw BadExample(key, "is an empty list, expected one message or more");
  }
  return messages;
}

/// Throws BadExample if a message other than the first of all has the role system or developer. The list of `key` begins at message
/// `first`.
void require_order(const std::vector<Message>& messages, std::size_t first, const char* key) {
  for (std::size_t i = std::max<std::size_t>(first, 1); i < messages.size(); ++i) {
    if (messages[i].role == "system" || messages[i].role == "developer") {
      throw BadExample(concat(key, '[', i - first, ']'),
                       concat("has the role ", messages[i].role, ", which only the first message may have"));
    }
  }
}

/// Marks the messages after the prompt: answers of the assistant are scored unless the data says otherwise, and nothing else is. The
/// list of `key` begins at message `first`.
Conversation conversation_of(std::vector<Message> messages, std::size_t prompt, const char* key, std::size_t first,
                             const std::string& tools) {
  require_order(messages, first, key);
  bool answers = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Message& message = messages[i];
    const bool is_answer = i >= prompt && message.role == "assistant";
    message.learn = is_answer && message.learn.value_or(true);
    answers = answers || *message.learn;
  }
  if (!answers) {
    throw BadExample(key, "has no message with the role assistant after the prompt, so there is no answer to compare");
  }
  return {.messages = std::move(messages), .tools = tools};
}

Conversation answer_to(const std::vector<Message>& prompt, const std::vector<Message>& answer, const char* key, const std::string& tools) {
  require_order(prompt, 0, "prompt");
  if (prompt.back().role == "assistant") {
    throw BadExample(
        concat("prompt[", prompt.size() - 1, ']'),
        concat("has the role assistant, and \"", key,
               "\" would be a second message of the assistant: expected a message of the user last; continuing a message is not "
               "supported"));
  }
  std::vector<Message> all = prompt;
  all.insert(all.end(), answer.begin(), answer.end());
  return conversation_of(std::move(all), prompt.size(), key, prompt.size(), tools);
}

std::size_t common_messages(const std::vector<Message>& a, const std::vector<Message>& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Reads two whole conversations. The prompt is the messages with which both begin.
Preference whole_conversations(std::vector<Message> chosen, std::vector<Message> rejected, const std::string& tools) {
  const std::size_t prompt = common_messages(chosen, rejected);
  if (prompt == 0) {
    throw BadExample("rejected",
                     "begins with another message than \"chosen\", so there is no common prompt; expected two conversations with the same "
                     "beginning, or a \"prompt\" of its own");
  }
  if (prompt == chosen.size() || prompt == rejected.size()) {
    throw BadExample("rejected", "has no message that differs from \"chosen\", so there is nothing to compare");
  }
  for (const auto& [key, messages] : {std::pair("chosen", &chosen), std::pair("rejected", &rejected)}) {
    const std::string& role = (*messages)[prompt].role;
    if (role != "assistant") {
      throw BadExample(concat(key, '[', prompt, ']'),
                       concat("has the role ", role,
                              " and is the first message that differs, expected two answers of the assistant to the "
                              "same messages"));
    }
  }
  return {.chosen = conversation_of(std::move(chosen), prompt, "chosen", 0, tools),
          .rejected = conversation_of(std::move(rejected), prompt, "rejected", 0, tools),
          .prompt = prompt};
}

/// Returns whether conversations repeat their separate prompt: all of its messages, or a string as a user's message.
bool repeat_prompt(const std::vector<Message>& chosen, const std::vector<Message>& rejected, const std::vector<Message>& prompt,
                   bool is_text) {
  const auto common = std::span(chosen).first(common_messages(chosen, rejected));
  return is_text ? std::ranges::find(common, prompt.front()) != common.end()
                 : common.size() >= prompt.size() && std::ranges::equal(common.first(prompt.size()), prompt);
}

Preference pair_of(const json& object, ExampleFindings& found) {
  // Check which fields there are.
  const json* const prompt = find_value(object, "prompt");
  const json* const chosen = find_value(object, "chosen");
  const json* const rejected = find_value(object, "rejected");
  require_input(chosen != nullptr, "has \"rejected\" and no \"chosen\", expected both");
  require_input(rejected != nullptr, "has \"chosen\" and no \"rejected\", expected both");
  const json* const messages = find_value(object, "messages");
  require_input(
      find_value(object, "completion") == nullptr && (messages == nullptr || *messages == *chosen),
      "has \"chosen\" and \"rejected\" beside \"completion\" or \"messages\" other than the chosen ones, so it is not clear what to "
      "learn; leave out one of the two");
  if (prompt == nullptr && chosen->is_string() != rejected->is_string()) {
    throw BadExample("rejected", concat("is a JSON ", json_type(*rejected), " and \"chosen\" a JSON ", json_type(*chosen),
                                        ", expected two texts or two lists of messages, or a \"prompt\""));
  }
  // Read two strings without a prompt as plain texts.
  const std::string tools = read_tools(object, "tools");
  if (prompt == nullptr && chosen->is_string()) {
    require_input(tools.empty(), "has \"tools\" beside plain texts, expected messages");
    for (const json* text : {chosen, rejected}) {
      found.windows_lines += has_windows_lines(text->get_ref<const std::string&>()) ? 1 : 0;
    }
    return {.chosen = {.text = chosen->get<std::string>()}, .rejected = {.text = rejected->get<std::string>()}};
  }
  // Read messages: whole conversations, or answers that follow a prompt.
  std::vector<Message> good = messages_of(object, "chosen", "assistant", found);
  std::vector<Message> bad = messages_of(object, "rejected", "assistant", found);
  if (prompt == nullptr) {
    return whole_conversations(std::move(good), std::move(bad), tools);
  }
  const std::vector<Message> asked = messages_of(object, "prompt", "user", found);
  if (good.front().role == "assistant" && bad.front().role == "assistant") {
    return {
        .chosen = answer_to(asked, good, "chosen", tools), .rejected = answer_to(asked, bad, "rejected", tools), .prompt = asked.size()};
  }
  if (!repeat_prompt(good, bad, asked, prompt->is_string())) {
    throw BadExample(good.front().role == "assistant" ? "rejected[0]" : "chosen[0]",
                     concat("has the role ", good.front().role == "assistant" ? bad.front().role : good.front().role,
                            ", expected an answer of the assistant to \"prompt\", or two conversations that repeat the prompt"));
  }
  return whole_conversations(std::move(good), std::move(bad), tools);
}

Preference judged_answer(const json& object, ExampleFindings& found) {
  constexpr std::string_view kLabel[] = {"label"};
  require_input(find_value(object, "messages") == nullptr,
                "has \"messages\" and \"completion\", so it is not clear which one to learn; leave out one of the two");
  const std::vector<Message> asked = messages_of(object, "prompt", "user", found);
  const std::vector<Message> answer = messages_of(object, "completion", "assistant", found);
  Preference example{.chosen = answer_to(asked, answer, "completion", read_tools(object, "tools")), .prompt = asked.size()};
  example.good = read_marks(object, kLabel, "");
  return example;
}

}  // namespace

PreferenceKind preference_kind(const json& object) {
  if (!object.is_object()) {
    return PreferenceKind::none;
  }
  if (find_value(object, "chosen") != nullptr || find_value(object, "rejected") != nullptr) {
    return PreferenceKind::pair;
  }
  const bool is_judged =
      find_value(object, "prompt") != nullptr && find_value(object, "completion") != nullptr && find_value(object, "label") != nullptr;
  return is_judged ? PreferenceKind::judged : PreferenceKind::none;
}

Preference read_preference(std::string_view line, ExampleFindings& found) { return to_preference(parse_json_line<json>(line), found); }

Preference to_preference(const json& object, ExampleFindings& found) {
  constexpr std::string_view kPairKeys[] = {"messages", "prompt", "chosen", "rejected", "tools", "weight", "train", "loss"};
  constexpr std::string_view kJudgedKeys[] = {"prompt", "completion", "label", "tools", "weight", "train", "loss"};
  require_input(object.is_object(), "is a JSON ", json_type(object), ", expected an object on each line");
  const PreferenceKind kind = preference_kind(object);
  require_input(kind != PreferenceKind::none,
                "is not an example for preference tuning, but earlier lines are; expected \"chosen\" and \"rejected\", or \"prompt\", "
                "\"completion\" and \"label\". With preference.method = \"none\", answers with a good label are learned as examples");
  const bool is_pair = kind == PreferenceKind::pair;
  check_keys(object, KeyPlace::line, is_pair ? std::span<const std::string_view>(kPairKeys) : kJudgedKeys, "", found);
  Preference example = is_pair ? pair_of(object, found) : judged_answer(object, found);
  example.chosen.learn = read_marks(object, kLineMarks, "").value_or(true);
  found.left_out += example.chosen.learn ? 0 : 1;
  return example;
}

}  // namespace dikkat
