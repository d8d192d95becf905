#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/model/language_model.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Continues train.sample_prompts at each evaluation, so that people can see how the model learns.
class PromptSampler {
 public:
  /// Keeps references to model and tokenizer. Throws InputError for a prompt that the tokenizer cannot encode, and for any prompt if the
  /// model is not a GPT.
  PromptSampler(const TrainConfig& config, const LanguageModel& model, const Tokenizer& tokenizer);

  struct Continuation {
    std::string prompt;
    std::string text;  // without the prompt
  };
  /// Returns a continuation of each prompt, all generated together. Random numbers depend only on the run's seed and the step. Returns
  /// nullopt if `stop`, which is called between tokens, returned true.
  std::optional<std::vector<Continuation>> operator()(index step, const std::function<bool()>& stop) const;

  /// Returns the bytes of memory for keys and values of earlier positions and for logits; 0 without prompts.
  std::size_t bytes() const;

 private:
  const LanguageModel& model_;
  const Tokenizer& tokenizer_;
  std::vector<std::string> prompts_;
  std::vector<std::vector<Token>> tokens_;  // the prompts' tokens
  index length_;                            // tokens of a continuation
  std::uint64_t seed_;
};

}  // namespace dikkat
