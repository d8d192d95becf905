#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "autograd/base/index.h"
#include "train/system/checked_file.h"
#include "train/text/token.h"

namespace dikkat {

/// Returns the bytes of a stored token: 2 for a vocabulary of up to 65,536, otherwise 4.
constexpr int token_width(index vocab_size) { return vocab_size <= 65536 ? 2 : 4; }

/// Tokens in a file, little endian.
struct TokenSegment {
  std::shared_ptr<const CheckedFile> file;
  std::size_t offset = 0;  // in bytes
  index count = 0;
  int width = 2;  // bytes of a token: 2, 4 or 8
};

/// The tokens of a text, in memory or in mapped files, and the starts of its documents.
class TokenStore {
 public:
  /// Makes an empty store in memory. Throws Error unless 1 <= vocab_size <= 2^31.
  explicit TokenStore(index vocab_size);
  /// Makes a store of the tokens in files, one after another; nothing can be appended. `documents` has the index of each document's first
  /// token (i64 in a segment); if it is empty, everything is one document.
  TokenStore(index vocab_size, std::vector<TokenSegment> segments, TokenSegment documents);
  TokenStore(index vocab_size, std::vector<TokenSegment> segments, std::vector<index> documents = {});

  /// Begins a new document.
  void begin_document() { documents_.push_back(size()); }
  /// Throws Error for a token outside the vocabulary.
  void append(std::span<const Token> tokens);

  index size() const { return size_; }
  index vocab_size() const { return vocab_size_; }
  /// Returns the size of the tokens in bytes.
  index bytes() const { return size_ * token_width(vocab_size_); }
  /// Returns whether the tokens are in mapped files.
  bool in_files() const { return std::holds_alternative<std::vector<TokenSegment>>(tokens_); }
  /// Copies tokens `first` to `first + count - 1` to `out`. Throws Error if they are not all in the store. Throws InputError if a file has
  /// a token outside the vocabulary or has changed (CheckedFile).
  void read(index first, index count, Token* out) const;

  /// For tokens in files: drops the pages that were read, so that they no longer count as this process's memory.
  void forget() const;

  /// For tokens in files: returns a store of tokens `first` to `first + count - 1`, with the documents in this range.
  TokenStore part(index first, index count) const;

  index documents() const;
  /// Returns the index of the first token of document i; size() for i = documents().
  index document_start(index i) const;

 private:
  void read_file(const TokenSegment& segment, index first, index count, Token* out) const;

  index vocab_size_;
  index size_ = 0;
  std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>, std::vector<TokenSegment>> tokens_;
  std::vector<index> documents_;  // starts of documents, for a store in memory
  TokenSegment document_file_;    // starts of documents, for files
};

}  // namespace dikkat
