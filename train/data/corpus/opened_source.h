#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/config/data_config.h"
#include "train/data/source_data.h"
#include "train/text/tokenizer_maker.h"

// This header is private to its folder.
namespace dikkat {

/// Facts about a source that are known before it is tokenized.
struct SourceFacts {
  index files = 0, documents = 0, bytes = 0;
  std::string fingerprint{};
  DocumentHashes documents_of_training{},
      documents_of_validation{};  // set only if the source has validation texts or the run has data.evaluations
};

/// A source that has been found and read once. Its settings name its own files as data.corpus and data.validation.
class OpenedSource {
 public:
  explicit OpenedSource(DataConfig config) : config_(std::move(config)) {}
  virtual ~OpenedSource() = default;

  const SourceFacts& facts() const { return facts_; }
  /// Returns the source's tokens, split for training and validation. Call it only once. Adds notes for the user to `notes`.
  virtual SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress& progress, std::vector<std::string>& notes) = 0;

 protected:
  bool has_validation() const { return !config_.validation.empty(); }
  /// Returns `hashes` if there are texts to compare the documents with, otherwise nullptr.
  DocumentHashes* wanted(DocumentHashes& hashes) const { return has_validation() || !config_.evaluations.empty() ? &hashes : nullptr; }
  /// Sets facts_ from the source's texts and its validation texts. Pass empty facts if there are no validation texts.
  void set_facts(const SourceFacts& texts, const SourceFacts& held_out);

  const DataConfig config_;
  SourceFacts facts_;
};

/// The context in which a source is read.
struct SourceReading {
  const Tokenizer* tokenizer = nullptr;  // the known tokenizer,
  TokenizerMaker* maker = nullptr;       // or the maker that learns one from the text
  bool is_ours = true;                   // KnownCorpus::is_ours
  bool is_known = false;                 // a run has trained on this corpus before
  std::uint64_t seed = 0;                // decides the order of a text's windows
  const LoadingProgress& progress;
  std::vector<std::string>& notes;
};

}  // namespace dikkat
