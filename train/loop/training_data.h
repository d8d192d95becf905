#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/data/pair_store.h"
#include "train/data/samples.h"
#include "train/data/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// A text, or pairs, as samples in which each prediction occurs once.
struct EvaluationText {
  std::unique_ptr<const TokenStore> text{};  // of a GPT
  std::unique_ptr<const PairStore> pairs{};  // of an encoder-decoder
  std::unique_ptr<const Samples> samples{};  // null where there is nothing to predict
  index tokens = 0;                          // of all text; of pairs the predictions
  index predicted_bytes = 0;                 // that predictions stand for: a text's first token is given; a pair's end counts as one byte
  std::vector<std::string> notes{};          // as TrainingData has them
};

/// The corpus of a run as tokens, split for training and validation.
struct TrainingData {
  std::unique_ptr<Tokenizer> tokenizer;
  EvaluationText train{}, validation{};
  std::unique_ptr<const Samples> training{};  // of the training part, as training sees it
  index files = 0;
  index documents = 0;
  index bytes = 0;                   // of all text
  std::string fingerprint{};         // of the corpus: equal text, equal fingerprint
  std::vector<std::string> notes{};  // sentences for the user: files that were skipped, what the cache of tokens has grown to
};

/// What a run knows about its corpus when it goes on.
struct KnownCorpus {
  std::string tokenizer;      // JSON
  std::string fingerprint{};  // of the corpus that the run began with; empty: any
  bool is_ours = true;        // else tokens are looked for in data.cache, but kept where "auto" keeps them: it may be a stranger's word
};

/// What a person is told while a corpus is being read. Opening is told once, where it means to wait for standard input.
struct LoadingReport {
  enum class Stage { opening, reading, learning, tokenizing } stage = Stage::reading;
  index bytes = 0;    // of text that have been read, or tokenized
  double share = -1;  // of the stage; below 0 where the end is not known
};
using LoadingProgress = std::function<void(const LoadingReport&)>;

/// Reads, splits and tokenizes the corpus that the configuration names: text, tokens, or for an encoder-decoder pairs. The tokenizer is the
/// known one, or what tokenizer.path has, or made from the corpus. Throws InputError for a corpus that cannot be read, is not the known
/// one, has too few tokens for one window of block_size, or a pair that is longer.
TrainingData load_training_data(const Config& config, const KnownCorpus* known = nullptr, const LoadingProgress& progress = {});

/// All of the paths' files, not split; the configuration may be a stranger's. Throws InputError for what cannot be read or tokenized.
EvaluationText load_evaluation_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                    const LoadingProgress& progress = {});

/// Cuts the text anew, so that `stride` predictions of a window count and the others are context. Throws InputError for pairs, for
/// documents that are windows of their own, and for a stride longer than a window.
void set_stride(EvaluationText& text, const Config& config, index stride);

}  // namespace dikkat
