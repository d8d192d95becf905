#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "train/chat/conversation.h"
#include "train/chat/example_keys.h"

namespace dikkat {

/// Returns whether an object of JSONL is an example of a conversation, recognized by its fields (read_conversation()). A field other than
/// "text" that the user names as the text makes it a text.
bool is_conversation(const nlohmann::ordered_json& object, const std::string& text_field = "text");

/// Returns the key of an object that has a class of its text: "label" or "labels"; empty if there is none.
std::string_view label_of(const nlohmann::ordered_json& object);

/// Returns advice on a text whose labels are in this key. FILE stands for the file's name.
std::string how_to_label(std::string_view key);

/// Returns the problem with an object in JSONL that has no field of an example: 'has the fields "a", "b"; expected ...'. It ends with a
/// guess at the intended field. For a pair, of preference tuning or of texts, it names the command that learns from it.
std::string unknown_fields(const nlohmann::ordered_json& object, const std::string& text_field);

/// Reads an object, such as a line of JSONL, recognized by its fields. These are "messages" (read_messages()); "conversations", the turns
/// of ShareGPT (read_turns()); "prompt" and "completion", a user's message and the answer; "instruction", "input" and "output" of Alpaca;
/// or `text_field`, a text. "weight", "train" or "loss" of the line decides whether it is learned. So does "label", except next to a text,
/// where it is a class and is refused. Counts keys without an effect in `found`. Throws BadJson (train/text/json_line.h) for text that is
/// not JSON; its message continues "FILE: line 7, ". Throws InputError, whose message continues "FILE: line 7: ", for other lines, and for
/// unsupported keys that change what is learned. Throws it also for a system message that is not the first, and for a conversation without
/// an answer.
Conversation read_conversation(std::string_view json, const std::string& text_field, ExampleFindings& found);
/// Reads an object that has been parsed.
Conversation to_conversation(const nlohmann::ordered_json& object, const std::string& text_field, ExampleFindings& found);

/// Reads an object that asks for an answer: "messages", "conversations" or "instruction", as read_conversation() reads them but without the
/// last answer; or "prompt", a list of messages or a text. A text becomes Conversation::text, without messages. Other keys except "tools"
/// have no meaning. Throws InputError, whose message continues "FILE: line 7: ", for anything else.
Conversation read_unanswered(const nlohmann::ordered_json& object, ExampleFindings& found);

}  // namespace dikkat
