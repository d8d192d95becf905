#pragma once

#include <array>
#include <optional>
#include <string>

#include "train/data/tokenize.h"

namespace dikkat {

/// The name of a token file: the first digits of its key, and this.
inline constexpr std::size_t kTokenFileDigits = 32;
inline constexpr std::string_view kTokenFileExtension = ".tokens";

/// The tokens of a corpus in a file, so that a text that has been tokenized once need not be again, and one that is larger than memory can
/// be trained on: a header with a checksum of itself and one of what follows, the tokens of both parts, and where documents begin. It is
/// written under another name, locked, and gets its own name when it is complete and on the disk.
///
/// `key` identifies the contents: the text, the tokenizer and the split point.
class TokenFileWriter : public TokenSink {
 public:
  /// Makes the folder where there is none. Throws Error when the file cannot be written.
  TokenFileWriter(const std::string& path, std::string key, index vocab_size);
  /// Removes what is not complete.
  ~TokenFileWriter() override;

  void begin_document(Part part) override;
  void append(Part part, std::span<const Token> tokens) override;
  /// Completes the file and gives it its name.
  void finish(const std::array<index, kParts>& bytes);

 private:
  class Output;

  std::string path_, unfinished_, key_;
  index vocab_size_;
  std::unique_ptr<Output> tokens_;
  std::array<std::unique_ptr<Output>, kParts> documents_;
  std::array<index, kParts> counts_{};
};

/// Nothing where there is no such file, or it is not complete, damaged, or of another key: all of it is read to find that out. While the
/// tokens are there, a shared lock (flock) says that the file is in use; its time of change says when that began.
std::optional<TokenizedCorpus> open_token_file(const std::string& path, const std::string& key, index vocab_size);

}  // namespace dikkat
