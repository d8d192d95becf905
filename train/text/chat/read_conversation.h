#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "train/text/chat/conversation.h"
#include "train/text/chat/example_keys.h"

namespace dikkat {

/// Whether an object of JSONL is an example of a conversation: it has "messages", or "prompt" and "completion". A field other than "text"
/// that the user names as the text makes it a text.
bool is_conversation(const nlohmann::json& object, const std::string& text_field = "text");

/// What to say of a line of JSONL that is an object without a field of an example: 'has the fields "a", "b"; expected ...', with a guess at
/// what was meant.
std::string unknown_fields(const nlohmann::json& object, const std::string& text_field);

/// Reads a line of JSONL, recognised by its fields: "messages", which read_messages() reads; "prompt" and "completion", which are a user's
/// message and the answer; or `text_field`, a text. "label", "weight", "train" or "loss" of a line says whether it is to be learnt. Counts
/// in `found` what has no effect. Throws BadJson (train/text/json_line.h), whose text continues "FILE: line 7, ", for what is not JSON.
/// Throws InputError, whose text continues "FILE: line 7: ", for anything else, for keys that change what is learnt and are not supported,
/// for a system message that is not the first, and for a conversation without an answer.
Conversation read_conversation(std::string_view json, const std::string& text_field, ExampleFindings& found);

}  // namespace dikkat
