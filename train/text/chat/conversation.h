#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dikkat {

/// One turn of a conversation.
struct Message {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
  std::optional<bool> learn{};  // whether the loss is over it, if the data says so; otherwise chat.loss decides

  bool operator==(const Message&) const = default;
};

/// An example of a set for fine-tuning: a conversation, or a text that is learnt as it is.
struct Conversation {
  std::vector<Message> messages{};  // empty: `text` is the example
  std::string text{};
  bool learn = true;  // false: the data says that nothing of it is to be learnt

  bool operator==(const Conversation&) const = default;
};

}  // namespace dikkat
