#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/config/effect.h"
#include "train/data/conversations.h"
#include "train/data/loader.h"
#include "train/data/pair_store.h"
#include "train/data/samples.h"
#include "train/data/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// A text, or pairs, as samples in which each prediction occurs once.
struct EvaluationText {
  std::unique_ptr<const TokenStore> text{};                  // of a GPT
  std::unique_ptr<const PairStore> pairs{};                  // of an encoder-decoder
  std::unique_ptr<const ConversationStore> conversations{};  // examples, in place of `text`
  std::unique_ptr<const Sequences> sequences{};              // what `samples` packs
  std::unique_ptr<const Samples> samples{};                  // null if there is nothing to predict
  index tokens = 0;                                          // of all text; of pairs the predictions
  index predicted_bytes = 0;         // of the predicted text (token_bytes.h): without its first token, and special tokens count none
  std::vector<std::string> notes{};  // as TrainingData has them
  DocumentHashes documents{};        // of a text of data.evaluations

  /// The number of predictions, or of packed or scored text the sum of their weights.
  double targets() const;
  /// Predicted bytes for each prediction: bits per byte are loss / ln 2 / this. NaN if nothing is predicted, or only special tokens.
  double bytes_per_target() const;
};

/// One of the texts that a run learns from, split for training and validation.
struct SplitText {
  std::string name{};  // of the source; empty where there is only data.corpus
  double share = 1;    // of all windows that a run learns from
  EvaluationText train{}, validation{};
  std::unique_ptr<const Sequences> learnt{};  // what `training` packs, where evaluations score other tokens (chat.eval_loss)
  std::unique_ptr<const Samples> training{};  // of the training part, as training sees it
  std::optional<ChatTemplate> chat{};         // of conversations
};

/// The corpus of a run as tokens.
struct TrainingData {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<SplitText> sources{};  // one or more
  struct NamedText {
    std::string name;
    EvaluationText text;
  };
  std::vector<NamedText> evaluations{};  // data.evaluations
  index files = 0;
  index documents = 0;
  index bytes = 0;                   // of all text
  std::string fingerprint{};         // of the corpus: equal text, equal fingerprint
  RunFacts facts{};                  // what kinds of files it has, evaluations included
  std::vector<std::string> notes{};  // sentences for the user: files that were skipped, what the cache of tokens has grown to

  index train_tokens() const;
  index validation_tokens() const;
  bool has_validation() const;
  /// Of the validation loss, which is the mean of the sources' by share: EvaluationText::bytes_per_target().
  double bytes_per_target() const;
  /// What a Loader takes.
  std::vector<WeightedSamples> training() const;
  /// The template of conversations; null if there are none.
  const ChatTemplate* chat() const;
};

/// What is known before the corpus is read, in a run that is resumed, fine-tuned or evaluated.
struct KnownCorpus {
  std::string tokenizer;      // JSON
  std::string fingerprint{};  // of the corpus that the run began with; empty: any
  bool is_ours = true;        // false: data.cache may be from a stranger's file, so tokens are read from it, but written as for "auto"
};

/// Progress while a corpus is read. `opening` is reported once, if that means to wait for standard input.
struct LoadingReport {
  enum class Stage { opening, reading, learning, tokenizing } stage = Stage::reading;
  index bytes = 0;    // of text, read or tokenized so far
  double share = -1;  // of the stage that is done; below 0: not known
};
using LoadingProgress = std::function<void(const LoadingReport&)>;

/// Whether the configuration names conversations, as a source or for evaluation.
bool reads_conversations(const Config& config);

/// Reads, splits and tokenizes the corpus that the configuration names: text, tokens, conversations, or for an encoder-decoder pairs; or
/// several of these (data.sources), each split by itself. The tokenizer is the known one, or what tokenizer.path has, or made from all
/// texts. Throws InputError for a corpus that cannot be read, is not the known one, has too few tokens for one window of block_size, or a
/// pair that is longer.
TrainingData load_training_data(const Config& config, const KnownCorpus* known = nullptr, const LoadingProgress& progress = {});

/// All files of the paths, not split. The configuration may come from a stranger's file. Throws InputError if something cannot be read or
/// tokenized.
EvaluationText load_evaluation_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                    const LoadingProgress& progress = {});

/// Cuts the text into overlapping windows, of which the last `stride` predictions count and the others are context. Throws InputError for
/// pairs, for separate documents (data.pack), and for a stride longer than a window.
void set_stride(EvaluationText& text, const Config& config, index stride);

}  // namespace dikkat
