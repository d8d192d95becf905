#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/training_data.h"
#include "train/text/tokenizer_maker.h"

// The kinds of sources: private to this folder.
namespace dikkat {

/// What is known of a source before there are tokens.
struct SourceFacts {
  index files = 0, documents = 0, bytes = 0;
  std::string fingerprint{};
  DocumentHashes documents_of_training{},
      documents_of_validation{};  // of a source with texts for validation, or in a run with data.evaluations
};

/// A source that has been found and read once. Its configuration names its files as data.corpus and data.validation.
class Source {
 public:
  explicit Source(Config config) : config_(std::move(config)) {}
  virtual ~Source() = default;

  const SourceFacts& facts() const { return facts_; }
  /// Its tokens, split for training and validation. Once. Adds to `notes` what the user is to be told.
  virtual SplitText tokens(const Tokenizer& tokenizer, const LoadingProgress& progress, std::vector<std::string>& notes) = 0;

 protected:
  bool has_validation() const { return !config_.data.validation.empty(); }
  /// Where to keep the hashes of documents, or nullptr where there is nothing to compare them with.
  DocumentHashes* wanted(DocumentHashes& hashes) const { return has_validation() || !config_.data.evaluations.empty() ? &hashes : nullptr; }
  /// facts_ of the source and of its texts for validation, which have none if there are none.
  void set_facts(const SourceFacts& texts, const SourceFacts& held_out);

  const Config config_;
  SourceFacts facts_;
};

/// What a source is read for.
struct SourceReading {
  const Tokenizer* tokenizer = nullptr;  // the one that there is
  TokenizerMaker* maker = nullptr;       // or what makes one of the text
  bool is_ours = true;                   // KnownCorpus::is_ours
  const LoadingProgress& progress;
  std::vector<std::string>& notes;
};

/// Each kind reads its files, once. They throw InputError for what cannot be read, or lacks a tokenizer.
std::unique_ptr<Source> open_text(const Config& config, const SourceReading& reading);
std::unique_ptr<Source> open_shards(const Config& config, const SourceReading& reading);
std::unique_ptr<Source> open_conversations(const Config& config, const SourceReading& reading);

// The same files, all of them, to be evaluated.
EvaluationText evaluation_of_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                  const LoadingProgress& progress);
EvaluationText evaluation_of_shards(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);
EvaluationText evaluation_of_conversations(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

/// Tokens that stand for `bytes` of text, as windows in which each prediction occurs once.
EvaluationText evaluation_of_tokens(const Config& config, const Tokenizer& tokenizer, TokenStore store, index bytes);
/// Both parts, with windows for training. Throws InputError, which names the corpus, if there are too few tokens for one.
SplitText split_of_tokens(const Config& config, const Tokenizer& tokenizer, EvaluationText train, EvaluationText validation);

/// An encoder-decoder's pairs, which are the only source of their run.
TrainingData load_pairs(const Config& config, const KnownCorpus* known, std::unique_ptr<Tokenizer> tokenizer);
EvaluationText evaluation_of_pairs(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths);

/// Throws InputError if the corpus of a run is not the known one.
void require_known(const Config& config, const KnownCorpus* known, const std::string& fingerprint);
TokenizerOptions tokenizer_options(const TokenizerConfig& config);
/// Whether windows do not cross from one document into the next.
inline bool by_document(const Config& config) { return config.data.pack != Packing::stream; }

}  // namespace dikkat
