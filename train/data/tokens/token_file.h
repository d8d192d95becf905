#pragma once

#include <array>
#include <optional>
#include <string>

#include "train/data/tokens/tokenize.h"

namespace dikkat {

/// The name of a token file consists of the first kTokenFileDigits digits of its key and this extension.
inline constexpr std::size_t kTokenFileDigits = 32;
inline constexpr std::string_view kTokenFileExtension = ".tokens";

/// Writes the tokens of a corpus to a file, so that a text is tokenized only once and can be larger than memory. The file has a header with
/// two checksums (of the header and of the rest), the tokens of both parts, and the starts of documents. It is written under a
/// temporary name, with a lock, and renamed when it is complete and synced.
///
/// `key` identifies the contents: the text, the tokenizer and the split point.
class TokenFileWriter : public TokenSink {
 public:
  /// Creates the folder if needed. Throws Error if the file cannot be written.
  TokenFileWriter(const std::string& path, std::string key, index vocab_size);
  /// Removes an incomplete file.
  ~TokenFileWriter() override;

  void begin_document(Part part) override;
  void append(Part part, std::span<const Token> tokens) override;
  /// Completes the file and renames it.
  void finish(const std::array<index, kParts>& bytes);

 private:
  class Output;

  std::string path_, unfinished_, key_;
  index vocab_size_;
  std::unique_ptr<Output> tokens_, validation_;  // the file, and the validation tokens, which are appended at its end
  std::array<std::unique_ptr<Output>, kParts> documents_;
  std::array<index, kParts> counts_{};
};

/// Opens a token file. Reads the whole file to check it, and returns nullopt if it does not exist, is incomplete or damaged, or has another
/// key. The result holds a shared lock (flock), which marks the file as in use. Opening updates the file's modification time.
std::optional<TokenizedCorpus> open_token_file(const std::string& path, const std::string& key, index vocab_size);

}  // namespace dikkat
