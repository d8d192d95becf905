#pragma once

#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Encodes each Unicode code point as one token. Ids number the sorted characters of the training text, as in nanoGPT.
class CharTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "char";

  /// Makes a vocabulary of the distinct characters in a UTF-8 corpus.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  static std::unique_ptr<Tokenizer> from_json(const TokenizerJson& json);

  /// `characters` must be in ascending order. Throws InputError if they are not, or if there are none.
  explicit CharTokenizer(std::u32string characters);

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return static_cast<index>(characters_.size()); }
  /// Throws EncodeError for text that is not UTF-8 and for a character that is not in the vocabulary.
  std::vector<Token> encode(std::string_view text) const override;
  index stable_prefix(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  std::string to_json() const override;

 private:
  std::u32string characters_;  // by id
  std::vector<Token> ids_;     // by code point, up to the vocabulary's last; kNone if it is not in the vocabulary
};

}  // namespace dikkat
