#include "train/data/examples/pair_source.h"

#include "train/data/corpus/fingerprint.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/pair_dataset.h"
#include "train/data/examples/pairs.h"

namespace dikkat {

TrainingData load_pairs(const DataConfig& config, const TokenizerConfig& kind, index block_size, const KnownCorpus* known,
                        std::unique_ptr<Tokenizer> tokenizer) {
  PairCorpus corpus = read_pairs(config.corpus);
  TrainingData data{.tokenizer = std::move(tokenizer), .fingerprint = fingerprint(corpus)};
  const PairSplit parts = split_pairs(corpus, config, data.notes);
  require_known(config, known, data.fingerprint);
  if (data.tokenizer == nullptr) {
    data.tokenizer = make_tokenizer(tokenizer_options(kind), corpus);
  }
  data.files = data.documents = static_cast<index>(corpus.documents.size());
  for (const Document& document : corpus.documents) {
    data.bytes += static_cast<index>(document.text.size());
  }
  SourceData split{.train = std::make_unique<PairDataset>(parts.train, *data.tokenizer, block_size),
                   .validation = std::make_unique<PairDataset>(parts.validation, *data.tokenizer, block_size)};
  split.training = split.train->training();
  data.sources.push_back(std::move(split));
  return data;
}

}  // namespace dikkat
