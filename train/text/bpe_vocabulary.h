#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/added_tokens.h"
#include "train/text/around_text.h"
#include "train/text/bpe.h"
#include "train/text/splitter.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The type of a token, numbered as in GGUF (tokenizer.ggml.token_type).
enum class TokenType : std::uint8_t { text = 1, unknown = 2, special = 3, added = 4, unused = 5, byte = 6 };

/// The contents of a byte-level BPE tokenizer's files.
struct BpeVocabulary {
  Bpe bpe;                     // the tokens of text
  AddedTokens added_tokens{};  // by id; the ids are free in `bpe`, or come after its last id
  Splitter splitter = Splitter::gpt2;
  bool nfc = false;          // whether the text is first converted to normal form C
  TextTokens text_tokens{};  // as far as the files define them

  /// Returns the number of ids, including those of added tokens.
  index size() const;
  /// Returns a token as files write it, 0 <= id < size(): its bytes as printable characters (byte_level.h), or an added token's name.
  std::string text_of(Token id) const;
  TokenType type_of(Token id) const;
  /// Returns the two tokens of each merge, as files write them.
  std::vector<std::pair<std::string, std::string>> merge_texts() const;
  /// Returns the token between documents: <|endoftext|> or <|end_of_text|> if it is a special token, otherwise text_tokens.eos.
  std::optional<Token> separator() const;
  /// Returns `text_tokens` with missing members filled in. eos is `after` or the separator, and bos is `before` or the separator, which
  /// stands before all documents except the first. ends are eos and the separator.
  TextTokens all_text_tokens() const;
  /// Returns the id of the added token with this name.
  std::optional<Token> added_token(std::string_view name) const;
};

}  // namespace dikkat
