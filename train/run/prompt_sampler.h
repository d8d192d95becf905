#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/model/language_model.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// What a model says to train.sample_prompts at each evaluation, so that people can see how it learns.
class PromptSampler {
 public:
  /// Keeps references to model and tokenizer. Throws InputError for a prompt that the tokenizer cannot encode, and for prompts of a model
  /// that is no GPT.
  PromptSampler(const TrainConfig& config, const LanguageModel& model, const Tokenizer& tokenizer);

  struct Continuation {
    std::string prompt;
    std::string text;  ///< without the prompt
  };
  /// A text for each prompt, with random numbers that depend only on the run's seed and the step. None if `stop` said so meanwhile.
  std::optional<std::vector<Continuation>> operator()(index step, const std::function<bool()>& stop) const;

  /// Memory that it takes, in bytes: keys and values of the earlier positions. 0 without prompts.
  std::size_t bytes() const;

 private:
  const LanguageModel& model_;
  const Tokenizer& tokenizer_;
  std::vector<std::string> prompts_;
  std::vector<std::vector<Token>> tokens_;  // of the prompts
  index length_;                            // of a continuation, in tokens
  std::uint64_t seed_;
};

}  // namespace dikkat
