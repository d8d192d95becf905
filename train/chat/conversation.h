#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

/// One turn of a conversation.
struct Message {
  std::string role;  // "system", "user" or "assistant"
  std::string content;

  bool operator==(const Message&) const = default;
};

/// An example of a set for fine-tuning: a conversation, or a text that is learnt as it is.
struct Conversation {
  std::vector<Message> messages{};  // empty: `text` is the example
  std::string text{};

  bool operator==(const Conversation&) const = default;
};

/// Whether a line of JSONL is an example of a conversation: an object with "messages", or with "prompt" and "completion". A field other than "text" that the
/// user names as the text makes it a text.
bool is_conversation(std::string_view json, const std::string& text_field = "text");

/// What to say of a line of JSONL that is an object without a field of an example: 'has the fields "a", "b"; expected ...', with a guess at what was
/// meant.
std::string unknown_fields(std::string_view json, const std::string& text_field);

/// Reads a line of JSONL, told by its fields: "messages", a list of {"role", "content"}; "prompt" and "completion", which are a user's message
/// and the answer; or `text_field`, a text. Throws BadJson (train/text/json_line.h), whose text continues "FILE: line 7, ", for what is not JSON.
/// Throws InputError, whose text continues "FILE: line 7: ", for anything else, for a role other than system, user and assistant, for a system
/// message that is not the first, and for a conversation without an answer.
Conversation read_conversation(std::string_view json, const std::string& text_field);

}  // namespace dikkat
