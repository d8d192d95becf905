#pragma once

#include <functional>
#include <optional>

#include "train/data/examples/pair_store.h"
#include "train/model/language_model.h"
#include "train/sample/translate.h"

namespace dikkat {

struct ExactMatch {
  index pairs = 0;
  index exact = 0;  // pairs for which the model writes exactly the target

  double share() const { return static_cast<double>(exact) / static_cast<double>(pairs); }
};

/// Counts the sources that an encoder-decoder answers with exactly their targets. Returns nothing if `stop` returns true.
std::optional<ExactMatch> exact_match(const LanguageModel& model, const Tokenizer& tokenizer, const PairStore& pairs,
                                      const TranslateOptions& options, const std::function<bool()>& stop = {},
                                      const std::function<void(double)>& progress = {});

}  // namespace dikkat
