#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/models/gpt.h"
#include "train/chat/answer_format.h"
#include "train/chat/chat_template.h"
#include "train/text/tokenizer.h"
#include "train/web/serve/api_request.h"

namespace dikkat::serve {

/// The labels of a classifier, which answers only POST /classify.
struct ServedLabels {
  std::vector<std::string> names;  // one or more
  bool several = false;            // whether a text may have several labels
  index window = 0;                // the most tokens of a text
  /// Returns the probability of each label.
  std::function<std::vector<double>(std::span<const float> logits)> probabilities{};
};

/// A served model. The objects that it refers to must outlive it.
struct ServedModel {
  const Gpt& gpt;
  const Tokenizer& tokenizer;
  std::string name;                    // the name that clients use
  std::string fingerprint;             // identifies program and weights
  std::optional<ChatTemplate> form{};  // the template of conversations; without one they are refused
  std::string why_no_form{};           // the reason why there is no template
  AnswerFormat answers{};              // the template's answer_format_of(*form)
  std::int64_t created = 0;            // seconds since 1970
  std::string base{};                  // the name of the model whose weights it shares; empty for others
  /// Returns vectors of length 1 of texts, (texts, C), or the logits of a classifier, (texts, labels).
  std::function<std::vector<float>(std::span<const std::vector<Token>> texts)> vectors{};
  std::optional<ServedLabels> labels{};  // set only for a classifier

  /// Returns the most tokens that the model reads at once.
  index context() const { return labels ? labels->window : gpt.config().block_size; }
};

/// Returns the model with this name, which must be among them.
const ServedModel& model_named(const std::vector<ServedModel>& models, const std::string& name);
/// Returns the names of the models.
std::vector<std::string> names_of(const std::vector<ServedModel>& models);

/// Returns the text of a request's conversation in the model's template. Throws ApiError if the model has no template, or the template
/// refuses the conversation.
ChatText conversation_text(const ServedModel& model, const ApiRequest& request);
/// Returns the tokens of each prompt of a request, or of its conversation. Throws ApiError if one cannot be encoded or leaves no room for
/// an answer, for a token of it or of a bias that is not in the vocabulary, and if the response may be too large.
std::vector<std::vector<Token>> prompt_tokens(const ServedModel& model, const ApiRequest& request);

/// Returns the most tokens of an answer to a prompt of `prompt_tokens`: the request's limit, but at most those that fit into the model's
/// context. The default limit is 16 for a text, and none for a conversation.
index most_tokens(const ServedModel& model, const ApiRequest& request, index prompt_tokens);

}  // namespace dikkat::serve
