#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/chat/conversation.h"
#include "train/text/chat/example_keys.h"

namespace dikkat {

/// The origin of messages.
enum class MessageSource {
  example,  // a line of a file
  request,  // a request in OpenAI's protocol, in which "developer" is a newer name of the role "system"
};

/// Reads a list of {"role", "content"}, for examples and for requests. The content is a string, or a list of parts {"type": "text",
/// "text"}, which are joined without a separator, as in templates of Hugging Face. "weight", "train" or "loss" decides whether a message is
/// learnt. `path` is the list's name in errors. Throws BadExample for anything else, including the keys that example_keys.h refuses by
/// name. Counts keys without an effect in `found`.
std::vector<Message> read_messages(const nlohmann::json& list, MessageSource source, const std::string& path, ExampleFindings& found);

}  // namespace dikkat
