#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/chat/conversation.h"
#include "train/chat/example_keys.h"

namespace dikkat {

/// Reads a list of messages, for examples and for requests, as OpenAI's protocol has them: {"role", "content"}, and for the assistant
/// "reasoning_content" and "tool_calls". The content is a string, or a list of parts {"type": "text", "text"} (Message::parts). "weight",
/// "train" or "loss" decides whether a message is learned. `path` is the list's name in errors. Throws BadExample for anything else,
/// including the keys that example_keys.h refuses by name. Counts keys without an effect in `found`.
std::vector<Message> read_messages(const nlohmann::ordered_json& list, const std::string& path, ExampleFindings& found);

/// Reads a list of turns in ShareGPT's form: {"from": "human", "value": "..."}. Otherwise does what read_messages() does.
std::vector<Message> read_turns(const nlohmann::ordered_json& list, const std::string& path, ExampleFindings& found);

/// Returns the "tools" of a line or a request as Conversation::tools: a list, or its text. Throws BadExample for anything else.
std::string read_tools(const nlohmann::ordered_json& object, const std::string& path);

}  // namespace dikkat
