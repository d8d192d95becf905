#pragma once

#include "train/text/symbol_tokenizer.h"

namespace dikkat {

/// Encodes each word as one token; words are separated by Unicode white space. A line break ("\n") is a word too, so that decoded text has
/// lines. Ids number four special tokens, and then the distinct words of the text in byte order.
///
/// A text comes back byte for byte if all its words are known, and its white space is only line breaks and single spaces between words. A
/// word that is spelled like a special token is an ordinary word with its own id.
class WordTokenizer : public SymbolTokenizer {
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
  /// Returns the tokenizer with this vocabulary; nullptr if it has other special tokens, or words that are not in byte order.
  static std::unique_ptr<Tokenizer> with(const SymbolVocabulary& vocabulary);

  /// `words` must be in ascending byte order, without the special tokens. Throws InputError for another order, no words, and a word that is
  /// empty, contains white space (except the word "\n") or is not UTF-8.
  explicit WordTokenizer(std::vector<std::string> words);

  std::string_view kind() const override { return kKind; }
  std::string to_json() const override;
  std::optional<SequenceTokens> sequence_tokens() const override { return SequenceTokens{.pad = kPad, .start = kStart, .end = kEnd}; }
};

}  // namespace dikkat
