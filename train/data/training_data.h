#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/config/config.h"
#include "train/config/key_effect.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/pair_store.h"
#include "train/data/examples/preferences.h"
#include "train/data/samples/loader.h"
#include "train/data/samples/samples.h"
#include "train/data/tokens/token_store.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// A text, conversations or pairs as samples in which each prediction occurs once.
struct EvaluationText {
  std::unique_ptr<const TokenStore> text{};                  // for a GPT
  std::unique_ptr<const PairStore> pairs{};                  // for an encoder-decoder
  std::unique_ptr<const ConversationStore> conversations{};  // for a GPT that reads examples instead of `text`
  std::unique_ptr<PreferenceStore> preferences{};            // for a GPT that learns preferences; the reference may be set
  std::unique_ptr<const Sequences> sequences{};              // the sequences that `samples` packs
  std::unique_ptr<const Samples> samples{};                  // null if there is nothing to predict
  index tokens = 0;                                          // tokens of all text; for pairs the number of predictions
  index predicted_bytes = 0;         // bytes of the predicted text (token_bytes.h): special tokens have 0 bytes, the first is not predicted
  std::vector<std::string> notes{};  // sentences for the user, as in TrainingData
  DocumentHashes documents{};        // set for evaluation texts

  /// Returns the sum of the weights of all predictions: their number, unless some are not scored.
  double targets() const;
  /// Returns the predicted bytes per prediction: bits per byte are loss / ln 2 / this. NaN if no bytes are predicted.
  double bytes_per_target() const;
};

/// One source of a run, split for training and validation.
struct SplitText {
  std::string name{};  // the source's name; empty if there is only data.corpus
  double share = 1;    // the source's share of all training windows
  EvaluationText train{}, validation{};
  std::unique_ptr<const Sequences> learned{};  // the sequences that `training` packs if evaluations score other tokens (chat.eval_loss)
  std::unique_ptr<const Samples> training{};   // the training part, as training sees it
  std::optional<ChatTemplate> chat{};          // set for conversations
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
  index bytes = 0;                   // bytes of all text
  std::string fingerprint{};         // the corpus's fingerprint: equal for equal text
  RunFacts facts{};                  // the kinds of files, including those for evaluation
  std::vector<std::string> notes{};  // sentences for the user: skipped files, the size of the token cache

  index train_tokens() const;
  index validation_tokens() const;
  bool has_validation() const;
  /// Returns EvaluationText::bytes_per_target() for the validation loss: the mean over the sources, weighted by their shares.
  double bytes_per_target() const;
  /// Returns the weighted samples of all sources, for a Loader.
  std::vector<WeightedSamples> training() const;
  /// Returns the template of conversations; null if there are none.
  const ChatTemplate* chat() const;
};

/// Facts that a resumed, fine-tuned or evaluated run knows before it reads the corpus.
struct KnownCorpus {
  std::string tokenizer;      // JSON
  std::string fingerprint{};  // the fingerprint that the corpus must have; empty: any
  bool is_ours = true;        // false: data.cache may come from a stranger's file; it is only read from, and "auto" is written to
};

/// Progress while a corpus is read. `opening` is reported once, and only if the program waits for standard input.
struct LoadingReport {
  enum class Stage { opening, reading, learning, tokenizing } stage = Stage::reading;
  index bytes = 0;    // bytes of text read or tokenized so far
  double share = -1;  // the completed share of the stage; below 0 if it is not known
};
using LoadingProgress = std::function<void(const LoadingReport&)>;

/// Returns whether the corpus that the configuration names holds preferences, and of which kind (contents_of()).
PreferenceKind kind_of_preferences(const Config& config);

/// Reads, splits and tokenizes the corpus that the configuration names: text, tokens or conversations, or pairs for an encoder-decoder.
/// With data.sources, each source is split separately. The tokenizer is the known one, the one at tokenizer.path, or learned from all
/// texts. Throws InputError if the corpus cannot be read, is not the known one, or has too few tokens for one window (data.window); also
/// for a pair that is longer than model.block_size.
TrainingData load_training_data(const Config& config, const KnownCorpus* known = nullptr, const LoadingProgress& progress = {});

/// Reads and tokenizes all files of the paths, without a split. The configuration may come from a stranger's file. Throws InputError if
/// something cannot be read or tokenized.
EvaluationText load_evaluation_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                    const LoadingProgress& progress = {});

}  // namespace dikkat
