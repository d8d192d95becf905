#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/chat/chat_template.h"
#include "train/config/data_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

struct ChatToShow {
  std::vector<std::string> paths;
  FieldNames names;
  ChatTemplate form;
  ScoredText scored = ScoredText::answers;
  index examples = 3;  // how many to show
};

/// Shows the first examples as a model sees them, token by token, then counts over all examples. Scored tokens are green on a terminal, and
/// in brackets elsewhere. Throws InputError for a corpus without conversations.
std::string show_chat(const ChatToShow& options, const Tokenizer& tokenizer);
/// Returns the examples and counts as JSON: "examples" has the text of each, its tokens and which of them are scored.
nlohmann::ordered_json chat_to_json(const ChatToShow& options, const Tokenizer& tokenizer);

}  // namespace dikkat
