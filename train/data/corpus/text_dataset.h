#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "train/config/data_config.h"
#include "train/data/samples/windows.h"
#include "train/data/source_data.h"

namespace dikkat {

/// The tokens of texts or of other programs' token files, in windows.
class TextDataset : public Dataset {
 public:
  /// Takes tokens that stand for `bytes` bytes of text. data.pack, data.order and data.window decide the windows, and `seed` their order.
  TextDataset(const DataConfig& config, std::uint64_t seed, const Tokenizer& tokenizer, TokenStore tokens, index bytes);

  std::unique_ptr<const Samples> training() const override;
  const Sequences* scored() const override { return packed_.get(); }
  TeacherPositions trained_targets(const std::string& key) const override;
  void set_stride(index stride) override;

  const TokenStore& tokens() const { return tokens_; }

 private:
  std::unique_ptr<const Samples> training_windows() const;
  std::unique_ptr<const DocumentWindows> document_windows() const;
  /// Returns whether windows stay within a document.
  bool by_document() const { return pack_ != Packing::stream; }
  /// Returns the bytes of the tokens that no window predicts: the first token of the text. If documents are separate and have no
  /// separators, it is the first token of each document.
  index given_bytes(const Tokenizer& tokenizer) const;

  const TokenStore tokens_;
  const Packing pack_;
  const DocumentOrder order_;
  const index window_;
  const std::uint64_t seed_;
  const bool has_separators_;
  const std::string corpus_;                       // the value of data.corpus, for errors
  std::unique_ptr<const DocumentWindows> packed_;  // set for data.pack = "best_fit": the windows that samples pack
};

/// Joins both parts. Throws InputError if there are too few tokens for one window; the message names the corpus.
SourceData source_of_texts(std::unique_ptr<TextDataset> train, std::unique_ptr<TextDataset> validation);

}  // namespace dikkat
