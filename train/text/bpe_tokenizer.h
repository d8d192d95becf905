#pragma once

#include <map>

#include "train/text/bpe.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Byte-level BPE with GPT-2's pieces: one learned from a corpus, or GPT-2's own. Encodes every text that is UTF-8.
///
/// Control tokens, as <|endoftext|>, stand for no text: a text that spells their names is encoded as any other, and decode() writes them
/// as their names.
class BpeTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "bpe";
  static constexpr std::string_view kEndOfText = "<|endoftext|>";

  /// vocab_size - 1 tokens of train_bpe(), or fewer where the text has no more, and <|endoftext|> as the last.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);

  /// `controls` are names by id, of ids at which `bpe` has a token of no bytes, or from its last token on. Throws InputError for others,
  /// for a name that is there twice, and unless every id below vocab_size() is a token.
  BpeTokenizer(Bpe bpe, std::map<Token, std::string> controls);

  const Bpe& bpe() const { return bpe_; }
  const std::map<Token, std::string>& controls() const { return controls_; }

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return vocab_size_; }
  /// Throws EncodeError where the text is not UTF-8.
  std::vector<Token> encode(std::string_view text) const override;
  index settled(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  /// A tokenizer.json as Hugging Face's tokenizers read it (hugging_face_json()).
  std::string to_json() const override;
  std::optional<Token> separator() const override { return separator_; }
  std::vector<Token> unwritten() const override;

 private:
  Bpe bpe_;
  std::map<Token, std::string> controls_;
  index vocab_size_;
  std::optional<Token> separator_;
};

}  // namespace dikkat
