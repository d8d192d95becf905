#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/chat/chat_template.h"
#include "train/text/tokenizer.h"

namespace dikkat {

struct ChatToShow {
  std::vector<std::string> paths;
  std::string text_field = "text";
  ChatTemplate form;
  ScoredText scored = ScoredText::answers;
  index examples = 3;  // how many are shown
};

/// The first examples as a model learns them, token by token: what the loss is over is green on a terminal, and elsewhere stands in
/// brackets. Then counts of all examples. Throws InputError for a corpus without conversations.
std::string show_chat(const ChatToShow& options, const Tokenizer& tokenizer);
/// The same for programs: "examples", each with its text, its tokens and which of them are scored; and the counts.
nlohmann::ordered_json chat_to_json(const ChatToShow& options, const Tokenizer& tokenizer);

}  // namespace dikkat
