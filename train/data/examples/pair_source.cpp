#include "train/data/examples/pair_source.h"

#include "autograd/base/error.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/corpus/opened_source.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/pairs.h"
#include "train/data/samples/pair_samples.h"

namespace dikkat {
namespace {

EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, std::span<const Pair> pairs) {
  EvaluationText text{.pairs = std::make_unique<PairStore>(tokenizer, pairs)};
  require_fits(*text.pairs, pairs, config.model.block_size);
  if (!pairs.empty()) {
    text.samples = std::make_unique<PairSamples>(*text.pairs);
  }
  for (index i = 0; i < text.pairs->count(); ++i) {
    text.tokens += text.pairs->target_length(i);
  }
  text.predicted_bytes = text.pairs->target_bytes();
  return text;
}

}  // namespace

TrainingData load_pairs(const Config& config, const KnownCorpus* known, std::unique_ptr<Tokenizer> tokenizer) {
  PairCorpus corpus = read_pairs(config.data.corpus);
  TrainingData data{.tokenizer = std::move(tokenizer), .fingerprint = fingerprint(corpus)};
  const PairSplit parts = split_pairs(corpus, config.data, data.notes);
  require_known(config, known, data.fingerprint);
  if (data.tokenizer == nullptr) {
    data.tokenizer = make_tokenizer(tokenizer_options(config.tokenizer), corpus);
  }
  data.files = data.documents = static_cast<index>(corpus.documents.size());
  for (const Document& document : corpus.documents) {
    data.bytes += static_cast<index>(document.text.size());
  }
  SplitText split{.train = evaluation_text(config, *data.tokenizer, parts.train),
                  .validation = evaluation_text(config, *data.tokenizer, parts.validation)};
  split.training = std::make_unique<PairSamples>(*split.train.pairs);
  data.sources.push_back(std::move(split));
  return data;
}

EvaluationText evaluation_of_pairs(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  return evaluation_text(config, tokenizer, read_pairs(paths).pairs);
}

}  // namespace dikkat
