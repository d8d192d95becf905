#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/chat/preference.h"
#include "train/config/key_effect.h"
#include "train/config/resolve.h"
#include "train/data/samples/loader.h"
#include "train/data/source_data.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// The corpus of a run as tokens.
struct TrainingData {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<SourceData> sources{};  // one or more
  struct NamedText {
    std::string name;
    std::unique_ptr<Dataset> text;
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
  /// Returns Dataset::bytes_per_target() for the validation loss: the mean over the sources, weighted by their shares.
  double bytes_per_target() const;
  /// Returns the weighted samples of all sources, for a Loader.
  std::vector<WeightedSamples> training() const;
  /// Returns the template of conversations; null if there are none.
  const ChatTemplate* chat() const;
  /// Returns the targets on which training computes a loss, for a teacher. Throws InputError, which names `key`, for several sources and
  /// for data for which distillation is not possible (Dataset::trained_targets()).
  TeacherPositions trained_targets(const std::string& key) const;
};

/// Facts that a resumed, fine-tuned or evaluated run knows before it reads the corpus.
struct KnownCorpus {
  std::string tokenizer;      // JSON
  std::string fingerprint{};  // the fingerprint that the corpus must have; empty: any
  bool is_ours = true;        // false: data.cache may come from a stranger's file; it is only read from, and "auto" is written to
};

/// Returns whether the corpus that the configuration names holds preferences, and of which kind (contents_of()).
PreferenceKind kind_of_preferences(const Config& config);

/// Reads, splits and tokenizes the corpus that the configuration names: text, tokens or conversations, or pairs for an encoder-decoder.
/// With data.sources, each source is split separately. The tokenizer is the known one, the one at tokenizer.path, or learned from all
/// texts. Throws InputError if the corpus cannot be read, is not the known one, or has too few tokens for one window (data.window). Throws
/// it also for a pair that is longer than model.block_size.
TrainingData load_training_data(const ResolvedConfig& config, const KnownCorpus* known = nullptr, const LoadingProgress& progress = {});

/// Reads and tokenizes all files of the paths, without a split. The configuration may come from a stranger's file. Throws InputError if
/// something cannot be read or tokenized.
LoadedText load_evaluation_text(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                const LoadingProgress& progress = {});

/// Throws InputError if the corpus of a run is not the one that it began with.
void require_known(const DataConfig& config, const KnownCorpus* known, const std::string& fingerprint);

/// Returns the options of the tokenizer that a configuration asks for.
TokenizerOptions tokenizer_options(const TokenizerConfig& config);

}  // namespace dikkat
