#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/sample/sample_options.h"
#include "train/sample/scored_token.h"

namespace dikkat {

/// A request for one sample: a continuation of a prompt, or only the scores of its tokens, with max_new_tokens 0.
struct SampleRequest {
  const Gpt* model = nullptr;  // must outlive the sample
  Vocabulary vocabulary{};
  std::vector<Token> prompt{};
  SampleOptions options{};  // without num_samples, prompts and interrupted, which are for Generation
  index sample = 0;         // options.first_sample + sample selects its random numbers
  /// The prompt's tokens are scored, each with this many of the likeliest tokens, up to kMostAlternatives; absent: they are not.
  std::optional<index> prompt_alternatives{};
};

/// Throws InputError for an option out of range, for an empty prompt, and for one with scores that is longer than the model's context.
/// Throws Error for unknown tokens and for a vocabulary that does not fit the model.
void check(const SampleRequest& request);

/// The scores of a sample's prompt, its next token, or its end.
struct SampleEvent {
  index number = 0;                              // the sample's number
  std::span<const ScoredToken> prompt_scores{};  // all tokens of the prompt, before the first token; this event has no token
  Token token = 0;                               // the token, if has_token()
  std::span<const float> logits{};               // (V): the model's own, from which the token or end_token was drawn
  index prompt_cached = 0;                       // before an end: how many tokens of the prompt came from a cache
  std::optional<Ending> ending{};                // why the sample has ended; this event has no token
  std::optional<Token> end_token{};              // one of Vocabulary::ends, if drawing it was the reason
  std::exception_ptr failure{};                  // the exception that ended the sample, with Ending::interrupted

  bool has_token() const { return !ending && prompt_scores.empty(); }
};

}  // namespace dikkat
