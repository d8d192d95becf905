#pragma once

#include <unordered_map>

#include "autograd/base/names.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {

/// The rule by which a text is a sequence of symbols.
enum class SymbolSplit : std::uint8_t {
  spaces,   // symbols are words, with one space between two of them
  longest,  // at each place the longest symbol, with nothing between two of them
};
template <>
struct Names<SymbolSplit> {
  static constexpr std::string_view of[] = {"spaces", "longest"};
};

/// A vocabulary of given strings.
struct SymbolVocabulary {
  std::vector<std::string> symbols{};  // by id
  SymbolSplit split = SymbolSplit::spaces;
  std::vector<Token> special{};    // tokens that encode() does not find by their names, in ascending order
  std::optional<Token> end{};      // the special token between documents
  std::optional<Token> unknown{};  // with spaces: the special token that stands for any other word
  bool line_breaks = true;         // with spaces: whether "\n" is a word; otherwise it is white space

  bool is_special(Token id) const;
  bool operator==(const SymbolVocabulary&) const = default;
};

/// How errors count symbols: with {"row", 1}, the symbol with id 0 is "row 1".
struct SymbolPlaces {
  std::string_view noun = "symbols tokenizer: symbol";
  index first = 0;
};

/// Encodes a text as a sequence of given strings, such as chess moves.
///
/// Without an unknown token, encode() refuses texts with anything else, so that decode() returns every text, except a space at its
/// beginning or end. With one, words are separated by any white space, and decode() puts single spaces between them and none next to a line
/// break. Special tokens are decoded to their names.
class SymbolTokenizer : public Tokenizer {
 public:
  static constexpr std::string_view kKind = "symbols";
  static constexpr index kMost = index{1} << 20;                 // symbols of a vocabulary without an unknown token
  static constexpr std::size_t kLongest = std::size_t{1} << 10;  // bytes of one of them

  /// Makes a vocabulary of the distinct words of a UTF-8 corpus, which single spaces and line breaks separate, and completed().
  static std::unique_ptr<TokenizerMaker> maker(const TokenizerOptions& options);
  static std::unique_ptr<Tokenizer> from_json(const TokenizerJson& json);

  /// Throws InputError, which names the symbol, unless symbols are distinct, short and UTF-8, and with spaces are words.
  explicit SymbolTokenizer(SymbolVocabulary vocabulary, SymbolPlaces places = {});
  SymbolTokenizer(const SymbolTokenizer&) = delete;
  SymbolTokenizer& operator=(const SymbolTokenizer&) = delete;

  const SymbolVocabulary& vocabulary() const { return vocabulary_; }

  std::string_view kind() const override { return kKind; }
  index vocab_size() const override { return static_cast<index>(vocabulary_.symbols.size()); }
  /// Throws EncodeError for text that is not UTF-8 and, without an unknown token, for anything that is not a symbol.
  std::vector<Token> encode(std::string_view text) const override { return encode_with_markup(text, {}); }
  std::vector<Token> encode_with_markup(std::string_view text, std::span<const ByteRange> markup) const override;
  index stable_prefix(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  std::string decode_inside(std::span<const Token> tokens) const override;
  std::string to_json() const override;
  std::optional<Token> separator() const override { return vocabulary_.end; }
  std::vector<Token> suppressed_tokens() const override;
  /// Returns false with spaces: they belong to no token, so that the bytes of tokens are not those of the text.
  bool is_lossless() const override { return vocabulary_.split == SymbolSplit::longest; }
  std::vector<SpecialToken> special_tokens() const override;
  TextTokens text_tokens() const override;

 private:
  std::optional<Token> special_named(std::string_view name) const;
  std::optional<Token> longest_at_start(std::string_view text) const;
  void encode_words(std::string_view text, std::span<const ByteRange> markup, std::vector<Token>& tokens) const;
  void encode_longest(std::string_view text, std::span<const ByteRange> markup, std::vector<Token>& tokens) const;

  SymbolVocabulary vocabulary_;
  std::unordered_map<std::string_view, Token> ids_{};  // by symbol, without special tokens; views into vocabulary_
  std::vector<Token> sorted_{};                        // the same ids in the byte order of their symbols
  std::size_t longest_ = 0;                            // bytes of the longest of these symbols
};

/// Adds a line break and <|endoftext|>, which ends documents, unless the vocabulary has them.
SymbolVocabulary completed(SymbolVocabulary vocabulary);

}  // namespace dikkat
