#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/models/gpt.h"
#include "train/text/chat/chat_template.h"
#include "train/text/tokenizer.h"
#include "train/web/serve/api_request.h"

namespace dikkat {

/// The model that a server answers with. What it refers to must live as long.
struct ServedModel {
  const Gpt& gpt;
  const Tokenizer& tokenizer;
  std::string name;                    // that clients see
  std::string fingerprint;             // of program and weights
  std::optional<ChatTemplate> form{};  // in which conversations are written; none: they are refused
  std::string why_no_form{};           // then: why
  std::int64_t created = 0;            // seconds since 1970

  index context() const { return gpt.config().block_size; }
};

/// The tokens of a request's prompt or conversation. Throws ApiError where it cannot be encoded, and where it leaves no room for an answer.
std::vector<Token> prompt_tokens(const ServedModel& model, const ApiRequest& request);

/// The most tokens of an answer to a prompt with so many tokens: what the request says, by default 16 for a text and all there is room for
/// in a conversation, and never more than fit into the model's context.
index most_tokens(const ServedModel& model, const ApiRequest& request, index prompt_tokens);

}  // namespace dikkat
