#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "train/chat/example_keys.h"
#include "train/chat/preference.h"

namespace dikkat {

/// Returns the kind of an example.
PreferenceKind preference_kind(const nlohmann::ordered_json& object);

/// Reads an object, such as a line of JSONL, for preference tuning.
///
/// A pair has "chosen" and "rejected", each a string or a list of messages (read_messages()). With a "prompt", a string or a list of
/// messages, they are the answers to it. Without one, two lists are whole conversations, and the messages that both begin with are the
/// prompt; two strings are plain texts. A "prompt" that only repeats a message of two whole conversations is allowed, and so are "messages"
/// that equal the chosen ones. A prompt does not end with a message of the assistant.
///
/// A judged answer has "prompt", "completion" and "label": true or 1 for a good answer, false or 0 for a bad one.
///
/// Counts keys without an effect in `found`. Throws BadJson as read_conversation() does, and InputError, whose message continues "FILE:
/// line 7: ", for anything else.
Preference read_preference(std::string_view line, ExampleFindings& found);
/// Reads an object that has been parsed.
Preference to_preference(const nlohmann::ordered_json& object, ExampleFindings& found);

}  // namespace dikkat
