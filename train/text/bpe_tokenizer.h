#pragma once

#include "train/text/bpe_files.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Byte-level BPE with GPT-2's rule for pieces, learnt from a corpus or read from files. Encodes any UTF-8 text.
///
/// Special tokens, such as <|endoftext|>, are never produced by encode(): a text that contains their names is encoded as ordinary text.
/// decode() writes their names.
class BpeTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "bpe";

  /// The vocabulary: vocab_size - 1 tokens of train_bpe(), or fewer if the text has no more, then <|endoftext|>.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  /// Reads hugging_face_json().
  static std::unique_ptr<Tokenizer> from_json(std::string_view json);

  /// Each special token needs an id that `bpe` leaves free (a token without bytes) or one after its last token. Throws InputError for any
  /// other id, for two <|endoftext|>, and if an id below vocab_size() has no token.
  explicit BpeTokenizer(BpeVocabulary vocabulary);

  const BpeVocabulary& vocabulary() const { return vocabulary_; }
  const Bpe& bpe() const { return vocabulary_.bpe; }

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return vocabulary_.size(); }
  /// Throws EncodeError for text that is not UTF-8.
  std::vector<Token> encode(std::string_view text) const override;
  index stable_prefix(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  /// hugging_face_json().
  std::string to_json() const override;
  std::optional<Token> separator() const override { return separator_; }
  std::vector<Token> suppressed_tokens() const override;

 private:
  BpeVocabulary vocabulary_;
  std::optional<Token> separator_;
};

}  // namespace dikkat
