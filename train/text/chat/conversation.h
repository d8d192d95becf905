#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dikkat {

/// One turn of a conversation.
struct Message {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
  std::optional<bool> learn{};  // whether the message is scored, if the data marks it; otherwise chat.loss decides

  bool operator==(const Message&) const = default;
};

/// An example for fine-tuning: a conversation, or a text that is scored as a whole.
struct Conversation {
  std::vector<Message> messages{};  // empty: `text` is the example
  std::string text{};
  bool learn = true;  // false if the data excludes the whole example from training

  bool operator==(const Conversation&) const = default;
};

}  // namespace dikkat
