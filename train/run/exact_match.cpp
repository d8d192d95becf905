#include "train/run/exact_match.h"

namespace dikkat {

std::optional<ExactMatch> exact_match(const LanguageModel& model, const Tokenizer& tokenizer, const PairStore& pairs,
                                      const TranslateOptions& options, const std::function<bool()>& stop,
                                      const std::function<void(double)>& progress) {
  std::vector<std::vector<Token>> sources;
  for (index i = 0; i < pairs.count(); ++i) {
    sources.emplace_back(static_cast<std::size_t>(pairs.source_length(i)));
    pairs.read_source(i, sources.back().data());
  }
  const auto answers = translate(model.encoder_decoder(), tokenizer, sources, options, stop, progress);
  if (answers.size() != sources.size()) {
    return std::nullopt;
  }
  ExactMatch result{.pairs = pairs.count()};
  for (index i = 0; i < pairs.count(); ++i) {
    std::vector<Token> target(static_cast<std::size_t>(pairs.target_length(i) - 1));  // without the end mark
    pairs.read_target(i, target.data());
    const Translation& answer = answers[static_cast<std::size_t>(i)];
    result.exact += answer.ended && answer.tokens == target ? 1 : 0;
  }
  return result;
}

}  // namespace dikkat
