#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/chat/conversation.h"
#include "train/text/chat/example_keys.h"

namespace dikkat {

/// Where messages come from.
enum class MessageSource {
  example,  // a line of a file
  request,  // of OpenAI's protocol, where "developer" is a newer name of the role "system"
};

/// Reads a list of {"role", "content"}, for examples and for requests. The content is a string, or a list of parts {"type": "text",
/// "text"}, which are joined without anything between them, as templates of Hugging Face do. "weight", "train" or "loss" says whether a
/// message is learnt. `path` is the list's name for errors. Throws BadExample for anything else (example_keys.h has what is refused by
/// name), and counts in `found` what has no effect.
std::vector<Message> read_messages(const nlohmann::json& list, MessageSource source, const std::string& path, ExampleFindings& found);

}  // namespace dikkat
