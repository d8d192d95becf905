#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/sample/sample_options.h"

namespace dikkat {

/// A request for one sample: a continuation of a prompt.
struct SampleRequest {
  const Gpt* model = nullptr;  // must outlive the sample
  Vocabulary vocabulary{};
  std::vector<Token> prompt{};
  SampleOptions options{};  // without num_samples, prompts and interrupted, which are for Generation
  index sample = 0;         // options.first_sample + sample selects its random numbers
};

/// Throws InputError for an option out of range or an empty prompt, and Error for unknown tokens and for a vocabulary that does not fit the
/// model.
void check(const SampleRequest& request);

/// A sample's next token, or its end.
struct SampleEvent {
  index number = 0;                 // the sample's number
  Token token = 0;                  // the token, if the sample has not ended
  std::span<const float> logits{};  // (V): the model's own, from which the token was drawn
  index prompt_cached = 0;          // with a token: how many tokens of the prompt came from a cache
  std::optional<Ending> ending{};   // why the sample has ended; this event has no token
  std::exception_ptr failure{};     // the exception that ended the sample, with Ending::interrupted
};

}  // namespace dikkat
