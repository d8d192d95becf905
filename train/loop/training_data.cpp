#include "train/loop/training_data.h"

#include "autograd/base/error.h"
#include "train/data/corpus.h"
#include "train/data/fingerprint.h"
#include "train/data/pair_samples.h"
#include "train/data/pairs.h"
#include "train/data/split.h"
#include "train/data/tokenize.h"
#include "train/data/windows.h"

namespace dikkat {
namespace {

/// The bytes that predictions stand for: the first token is given, not predicted.
index predicted_bytes(const TokenStore& text, index bytes, const Tokenizer& tokenizer) {
  Token first = 0;
  text.read(0, 1, &first);
  return bytes - static_cast<index>(tokenizer.decode(std::span(&first, 1)).size());
}

EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, std::span<const Passage> passages) {
  EvaluationText text{.text = std::make_unique<TokenStore>(tokenize(tokenizer, passages))};
  text.tokens = text.text->size();
  if (text.tokens > 1) {
    text.samples = std::make_unique<SequentialWindows>(*text.text, config.model.block_size);
    text.predicted_bytes = predicted_bytes(*text.text, byte_count(passages), tokenizer);
  }
  return text;
}

EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, std::span<const Pair> pairs) {
  EvaluationText text{.pairs = std::make_unique<PairStore>(tokenizer, pairs)};
  require_fits(*text.pairs, pairs, config.model.block_size);
  if (!pairs.empty()) {
    text.samples = std::make_unique<PairSamples>(*text.pairs);
  }
  for (index i = 0; i < text.pairs->count(); ++i) {
    text.tokens += text.pairs->target_length(i);
  }
  text.predicted_bytes = text.pairs->target_bytes() + text.pairs->count();
  return text;
}

/// What is known of a corpus before its tokens.
TrainingData begin(const Config& config, const KnownCorpus* known, const auto& corpus) {
  std::string found = fingerprint(corpus.documents);
  require_input(known == nullptr || found == known->fingerprint, "the corpus has changed since the run began: its sha256 is ", found,
                ", the checkpoint's is ", known == nullptr ? "" : known->fingerprint, "; bring the text back as it was (",
                config.data.corpus.front(), "), begin a new run with `dikkat train`, or evaluate another text with `dikkat eval --corpus`");
  TrainingData data{.tokenizer = known != nullptr ? tokenizer_from_json(known->tokenizer) : make_tokenizer({.kind = config.tokenizer.kind}, corpus)};
  data.documents = static_cast<index>(corpus.documents.size());
  for (const Document& document : corpus.documents) {
    data.bytes += static_cast<index>(document.text.size());
  }
  data.fingerprint = std::move(found);
  return data;
}

TrainingData load_text(const Config& config, const KnownCorpus* known) {
  const Corpus corpus = read_corpus(config.data.corpus);
  const Split parts = split(corpus, config.data.val_fraction);
  TrainingData data = begin(config, known, corpus);
  data.train = evaluation_text(config, *data.tokenizer, parts.train);
  data.validation = evaluation_text(config, *data.tokenizer, parts.validation);
  data.training =
      std::make_unique<TrainingWindows>(*data.train.text, config.model.block_size, static_cast<std::uint64_t>(config.train.seed));
  require_input(data.validation.tokens != 1,
                "the validation part has 1 token, expected 2 or more; raise data.val_fraction, or set it to 0 to train without validation");
  return data;
}

TrainingData load_pairs(const Config& config, const KnownCorpus* known) {
  const PairCorpus corpus = read_pairs(config.data.corpus);
  const PairSplit parts = split_pairs(corpus, config.data.val_fraction);
  TrainingData data = begin(config, known, corpus);
  data.train = evaluation_text(config, *data.tokenizer, parts.train);
  data.validation = evaluation_text(config, *data.tokenizer, parts.validation);
  data.training = std::make_unique<PairSamples>(*data.train.pairs);
  return data;
}

bool reads_pairs(const Config& config) { return config.model.kind == "encoder_decoder"; }

}  // namespace

TrainingData load_training_data(const Config& config, const KnownCorpus* known) {
  require_input(!config.data.corpus.empty(), "no corpus was given; expected --corpus FILE_OR_FOLDER, or data.corpus in the configuration");
  return reads_pairs(config) ? load_pairs(config, known) : load_text(config, known);
}

EvaluationText load_evaluation_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  if (reads_pairs(config)) {
    const PairCorpus corpus = read_pairs(paths);
    return evaluation_text(config, tokenizer, corpus.pairs);
  }
  const Corpus corpus = read_corpus(paths);
  EvaluationText text = evaluation_text(config, tokenizer, corpus.passages());
  require_input(text.samples != nullptr, "the text for evaluation has ", text.tokens, " tokens, expected at least 2: give a longer text");
  return text;
}

}  // namespace dikkat
