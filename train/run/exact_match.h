#pragma once

#include <functional>
#include <optional>

#include "train/data/pair_store.h"
#include "train/model/language_model.h"
#include "train/sample/translate.h"

namespace dikkat {

struct ExactMatch {
  index pairs = 0;
  index exact = 0;  // pairs whose source is answered with exactly the target

  double share() const { return static_cast<double>(exact) / static_cast<double>(pairs); }
};

/// Lets an encoder-decoder answer every source. If `stop` returns true, there is no result.
std::optional<ExactMatch> exact_match(const LanguageModel& model, const Tokenizer& tokenizer, const PairStore& pairs,
                                      const TranslateOptions& options, const std::function<bool()>& stop = {},
                                      const std::function<void(double)>& progress = {});

}  // namespace dikkat
