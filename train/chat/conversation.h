#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dikkat {

/// One turn of a conversation.
struct Message {
  std::string role;  // "system", "user", "assistant" or "tool"
  std::string content;
  std::optional<bool> learn{};  // whether the message is scored, if the data marks it; otherwise chat.loss decides
  std::string fields{};  // other fields for the template, as a JSON object: "tool_calls", "reasoning_content"; empty if there are none
  std::vector<std::string> parts{};  // the texts of a content that is a list of parts; `content` joins them with line breaks

  bool operator==(const Message&) const = default;
};

/// An example for fine-tuning: a conversation, or a text that is scored as a whole.
struct Conversation {
  std::vector<Message> messages{};  // empty: `text` is the example
  std::string text{};
  bool learn = true;        // false if the data excludes the whole example from training
  std::string tools{};      // the tools that the assistant may call, as a JSON array; empty if there are none
  std::string variables{};  // more variables of the template for this conversation, as a JSON object; empty if there are none

  bool operator==(const Conversation&) const = default;
};

}  // namespace dikkat
