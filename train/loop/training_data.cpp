#include "train/loop/training_data.h"

#include "autograd/base/error.h"
#include "train/data/corpus.h"
#include "train/data/fingerprint.h"
#include "train/data/split.h"
#include "train/data/tokenize.h"

namespace dikkat {

TrainingData load_training_data(const Config& config, const std::string* tokenizer_json) {
  require_input(!config.data.corpus.empty(), "no corpus was given; expected --corpus FILE_OR_FOLDER, or data.corpus in the configuration");
  const Corpus corpus = read_corpus(config.data.corpus);
  const Split parts = split(corpus, config.data.val_fraction);
  auto tokenizer = tokenizer_json != nullptr ? tokenizer_from_json(*tokenizer_json) : make_tokenizer(config.tokenizer.kind, corpus);
  TrainingData data{.tokenizer = nullptr,
                    .train = tokenize(*tokenizer, parts.train),
                    .validation = tokenize(*tokenizer, parts.validation),
                    .documents = static_cast<index>(corpus.documents.size()),
                    .bytes = byte_count(parts.train) + byte_count(parts.validation),
                    .validation_bytes = byte_count(parts.validation),
                    .fingerprint = fingerprint(corpus)};
  data.tokenizer = std::move(tokenizer);
  return data;
}

EvaluationText load_evaluation_text(const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  const Corpus corpus = read_corpus(paths);
  const auto passages = corpus.passages();
  return {.tokens = tokenize(tokenizer, passages), .bytes = byte_count(passages)};
}

}  // namespace dikkat
