#pragma once

#include <functional>
#include <memory>

#include "train/text/bpe_vocabulary.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

class AddedTokenFinder;

/// Byte-level BPE as GPTs use it, learned from a corpus or read from files.
///
/// Special tokens, such as <|endoftext|>, are never produced by encode(): a text that contains their names is encoded as ordinary text.
/// Other added tokens are. decode() writes their names.
class BpeTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "bpe";

  /// Makes a vocabulary of vocab_size - 1 tokens from train_bpe(), or fewer if the text does not have more, and then <|endoftext|>.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  /// Reads the object that bpe_json() or pipeline_json() returns: this class or PipelineTokenizer.
  static std::unique_ptr<Tokenizer> from_json(const TokenizerJson& json);

  /// The id of an added token must be one that `bpe` leaves free (a token without bytes), or come after the last token. Throws InputError
  /// for any other id, a name that AddedTokenFinder refuses, two added tokens with the same name, and one spelled like another token.
  /// Throws it also if an id below vocab_size() has no token, or if text_tokens are not added tokens.
  explicit BpeTokenizer(BpeVocabulary vocabulary);

  const BpeVocabulary& vocabulary() const { return vocabulary_; }
  /// Calls f for each piece of a text that encode() encodes by itself. Throws what encode() throws.
  void for_pieces(std::string_view text, const std::function<void(std::string_view piece)>& f) const;
  const Bpe& bpe() const { return vocabulary_.bpe; }

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return vocabulary_.size(); }
  /// Throws EncodeError for text that is not UTF-8, and for a character with a byte that the vocabulary does not have.
  std::vector<Token> encode(std::string_view text) const override;
  std::vector<Token> encode_with_markup(std::string_view text, std::span<const ByteRange> markup) const override;
  index stable_prefix(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  /// Returns bpe_json().
  std::string to_json() const override;
  std::optional<Token> separator() const override { return vocabulary_.separator(); }
  std::vector<Token> suppressed_tokens() const override;
  bool is_lossless() const override;
  std::vector<SpecialToken> special_tokens() const override;
  TextTokens text_tokens() const override { return vocabulary_.all_text_tokens(); }

 private:
  void require_known_bytes(std::string_view text) const;
  template <class F>
  void for_pieces_of(std::string_view part, F&& f) const;

  BpeVocabulary vocabulary_;
  std::shared_ptr<const AddedTokenFinder> added_;
};

}  // namespace dikkat
