#pragma once

#include "train/text/bpe_files.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Byte-level BPE with GPT-2's pieces: one learned from a corpus, or GPT-2's own. Encodes every text that is UTF-8.
///
/// Special tokens, such as <|endoftext|>, stand for no text: a text that spells their names is encoded like any other, and decode() writes
/// their names.
class BpeTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "bpe";

  /// vocab_size - 1 tokens of train_bpe(), or fewer where the text has no more, and <|endoftext|> as the last.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  /// Reads hugging_face_json().
  static std::unique_ptr<Tokenizer> from_json(std::string_view json);

  /// The id of a special token is one at which `bpe` has a token of no bytes, or follows the last token. Throws InputError for any other
  /// id, for two <|endoftext|>, and unless every id below vocab_size() is a token.
  explicit BpeTokenizer(BpeVocabulary vocabulary);

  const BpeVocabulary& vocabulary() const { return vocabulary_; }
  const Bpe& bpe() const { return vocabulary_.bpe; }

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return vocabulary_.size(); }
  /// Throws EncodeError where the text is not UTF-8.
  std::vector<Token> encode(std::string_view text) const override;
  index settled(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  /// hugging_face_json().
  std::string to_json() const override;
  std::optional<Token> separator() const override { return separator_; }
  std::vector<Token> unwritten() const override;

 private:
  BpeVocabulary vocabulary_;
  std::optional<Token> separator_;
};

}  // namespace dikkat
