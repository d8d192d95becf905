#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/added_tokens.h"
#include "train/text/bpe.h"
#include "train/text/splitter.h"
#include "train/text/tokenizer.h"

namespace dikkat {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// What a token is, numbered as in GGUF (tokenizer.ggml.token_type).
enum class TokenType : std::uint8_t { text = 1, special = 3, added = 4 };

/// What the files of a byte-level BPE tokenizer say.
struct BpeVocabulary {
  Bpe bpe;                     // the tokens of text
  AddedTokens added_tokens{};  // by id; each has an id that `bpe` leaves free, or one after its last
  Splitter splitter = Splitter::gpt2;
  bool nfc = false;          // the text is put into normal form C first
  TextTokens text_tokens{};  // as far as the files say them

  /// The number of ids, those of added tokens included.
  index size() const;
  /// A token as files write it, 0 <= id < size(): its bytes as printable characters (byte_level.h), or the name of an added token.
  std::string text_of(Token id) const;
  TokenType type_of(Token id) const;
  /// The two tokens of each merge, as files write them.
  std::vector<std::pair<std::string, std::string>> merge_texts() const;
  /// The token between documents: <|endoftext|> or <|end_of_text|> if it is a special token, else text_tokens.eos.
  std::optional<Token> separator() const;
  /// `text_tokens` completed. eos: `after`, or the separator; bos: `before`, or the separator, which stands before all documents but the
  /// first; ends: eos and the separator.
  TextTokens all_text_tokens() const;
  /// The id of the added token of this name.
  std::optional<Token> added_token(std::string_view name) const;
};

}  // namespace dikkat
