#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/training_data.h"
#include "train/text/tokenizer_maker.h"

// The kinds of sources. This header is private to its folder.
namespace dikkat {

/// Facts about a source that are known before it is tokenized.
struct SourceFacts {
  index files = 0, documents = 0, bytes = 0;
  std::string fingerprint{};
  DocumentHashes documents_of_training{},
      documents_of_validation{};  // set only if the source has validation texts or the run has data.evaluations
};

/// A source that has been found and read once. Its configuration names its files as data.corpus and data.validation.
class Source {
 public:
  explicit Source(Config config) : config_(std::move(config)) {}
  virtual ~Source() = default;

  const SourceFacts& facts() const { return facts_; }
  /// Returns the source's tokens, split for training and validation. Call it only once. Adds notes for the user to `notes`.
  virtual SplitText tokens(const Tokenizer& tokenizer, const LoadingProgress& progress, std::vector<std::string>& notes) = 0;

 protected:
  bool has_validation() const { return !config_.data.validation.empty(); }
  /// Returns `hashes` if there are texts to compare the documents with, otherwise nullptr.
  DocumentHashes* wanted(DocumentHashes& hashes) const { return has_validation() || !config_.data.evaluations.empty() ? &hashes : nullptr; }
  /// Sets facts_ from the source's texts and its validation texts. Pass empty facts if there are no validation texts.
  void set_facts(const SourceFacts& texts, const SourceFacts& held_out);

  const Config config_;
  SourceFacts facts_;
};

/// The context in which a source is read.
struct SourceReading {
  const Tokenizer* tokenizer = nullptr;  // the known tokenizer,
  TokenizerMaker* maker = nullptr;       // or the maker that learns one from the text
  bool is_ours = true;                   // KnownCorpus::is_ours
  const LoadingProgress& progress;
  std::vector<std::string>& notes;
};

/// Each of these reads its files once. They throw InputError for files that cannot be read or that need a known tokenizer.
std::unique_ptr<Source> open_text(const Config& config, const SourceReading& reading);
std::unique_ptr<Source> open_shards(const Config& config, const SourceReading& reading);
std::unique_ptr<Source> open_conversations(const Config& config, const SourceReading& reading);

// These read whole files for evaluation, without a split.
EvaluationText evaluation_of_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                  const LoadingProgress& progress);
EvaluationText evaluation_of_shards(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);
EvaluationText evaluation_of_conversations(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

/// Makes windows of tokens that stand for `bytes` bytes of text. Each prediction occurs once.
EvaluationText evaluation_of_tokens(const Config& config, const Tokenizer& tokenizer, TokenStore store, index bytes);
/// Joins both parts and makes the training windows. Throws InputError, which names the corpus, if there are too few tokens for one window.
SplitText split_of_tokens(const Config& config, const Tokenizer& tokenizer, EvaluationText train, EvaluationText validation);

/// Loads an encoder-decoder's pairs, which are the only source of their run.
TrainingData load_pairs(const Config& config, const KnownCorpus* known, std::unique_ptr<Tokenizer> tokenizer);
EvaluationText evaluation_of_pairs(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

/// Throws InputError if the corpus of a run is not the one that it began with.
void require_known(const Config& config, const KnownCorpus* known, const std::string& fingerprint);
TokenizerOptions tokenizer_options(const TokenizerConfig& config);
/// Returns whether windows stay within a document.
inline bool by_document(const Config& config) { return config.data.pack != Packing::stream; }

}  // namespace dikkat
