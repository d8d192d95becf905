#pragma once

#include <unordered_map>

#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// One token a word: what stands between Unicode white space. A line break ("\n") is a word too, so that text can be written in lines
/// again. Four special tokens come first, then the distinct words of the text in byte order.
///
/// decode() puts one space between words and none beside a line break: text comes back byte for byte where its words are known, single
/// spaces part them and no line begins or ends with white space. Special tokens are written as their names. A word of a text that is
/// spelled like one of these names is a word like any other, with an id of its own.
class WordTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "word";
  static constexpr Token kPad = 0;      // "<pad>"
  static constexpr Token kUnknown = 1;  // "<unk>", any word that is not in the vocabulary
  static constexpr Token kStart = 2;    // "<start>"
  static constexpr Token kEnd = 3;      // "<end>"
  static constexpr Token kFirstWord = 4;

  /// The distinct words of a corpus in UTF-8 that occur options.min_count times or more.
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  static std::unique_ptr<Tokenizer> from_json(std::string_view json);

  /// `words` without the special tokens, in rising byte order. Throws InputError otherwise, when there are none, and for one that is
  /// empty, holds white space (the line break alone is a word) or is not UTF-8.
  explicit WordTokenizer(std::vector<std::string> words);
  WordTokenizer(const WordTokenizer&) = delete;
  WordTokenizer& operator=(const WordTokenizer&) = delete;

  std::string_view kind() const override { return kKind; }
  /// Words and special tokens.
  index vocab_size() const override { return static_cast<index>(words_.size()); }
  /// Throws EncodeError where the text is not UTF-8.
  std::vector<Token> encode(std::string_view text) const override;
  index settled(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  std::string to_json() const override;
  std::optional<Token> separator() const override { return kEnd; }
  std::vector<Token> unwritten() const override { return {kPad, kUnknown, kStart}; }
  bool is_lossless() const override { return false; }
  std::optional<SequenceTokens> sequence_tokens() const override { return SequenceTokens{.pad = kPad, .start = kStart, .end = kEnd}; }

 private:
  std::vector<std::string> words_;                   // of an id; the special tokens' names first
  std::unordered_map<std::string_view, Token> ids_;  // of a word; views into words_
};

}  // namespace dikkat
