#pragma once

#include <unordered_map>

#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// Encodes each word as one token; words are separated by Unicode white space. A line break ("\n") is a word too, so that decoded text has
/// lines. Ids number four special tokens, and then the distinct words of the text in byte order.
///
/// decode() puts one space between words, and none next to a line break. So a text comes back byte for byte if all its words are known, and
/// its white space is only line breaks and single spaces between words. Special tokens are decoded to their names. A word that is spelled
/// like one of these names is an ordinary word with its own id.
class WordTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "word";
  static constexpr Token kPad = 0;      // "<pad>"
  static constexpr Token kUnknown = 1;  // "<unk>", stands for any word that is not in the vocabulary
  static constexpr Token kStart = 2;    // "<start>"
  static constexpr Token kEnd = 3;      // "<end>"
  static constexpr Token kFirstWord = 4;

  /// Makes a vocabulary of the distinct words of a UTF-8 corpus that occur at least options.min_count times.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  static std::unique_ptr<Tokenizer> from_json(const TokenizerJson& json);

  /// `words` must be in ascending byte order, without the special tokens. Throws InputError for another order, no words, and a word that is
  /// empty, contains white space (except the word "\n") or is not UTF-8.
  explicit WordTokenizer(std::vector<std::string> words);
  WordTokenizer(const WordTokenizer&) = delete;
  WordTokenizer& operator=(const WordTokenizer&) = delete;

  std::string_view kind() const override { return kKind; }
  /// Returns the number of words and special tokens.
  index vocab_size() const override { return static_cast<index>(words_.size()); }
  /// Throws EncodeError for text that is not UTF-8.
  std::vector<Token> encode(std::string_view text) const override;
  index stable_prefix(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  bool puts_spaces_between() const override { return true; }
  std::string to_json() const override;
  std::optional<Token> separator() const override { return kEnd; }
  std::vector<Token> suppressed_tokens() const override { return {kPad, kUnknown, kStart}; }
  bool is_lossless() const override { return false; }
  std::optional<SequenceTokens> sequence_tokens() const override { return SequenceTokens{.pad = kPad, .start = kStart, .end = kEnd}; }

 private:
  std::vector<std::string> words_;                   // by id; the names of the special tokens first
  std::unordered_map<std::string_view, Token> ids_;  // by word; views into words_
};

}  // namespace dikkat
