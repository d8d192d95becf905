#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/text/hugging_face/text_pattern.h"

namespace dikkat {

/// The decoder of a tokenizer.json: steps that turn tokens, as the file writes them, into text. Immutable: threads may share one.
class TokenDecoder {
 public:
  TokenDecoder() = default;
  /// Reads the field "decoder" of a file. Throws InputError, which names it, for a step that this program does not know.
  explicit TokenDecoder(const nlohmann::json& description);

  /// Returns the text of the tokens. Unlike Hugging Face's decoder, it keeps bytes that are not UTF-8, since tokens may end within a
  /// character. `begins_text`: whether the tokens begin a text; its first space may have been put there by the tokenizer.
  std::string operator()(std::vector<std::string> tokens, bool begins_text) const;

  /// Returns whether the only step is ByteLevel.
  bool is_byte_level() const { return steps_.size() == 1 && steps_[0].kind == Kind::byte_level; }

 private:
  enum class Kind : std::uint8_t { replace, byte_fallback, fuse, strip, byte_level, metaspace, word_piece };
  struct Step {
    Kind kind;
    TextPattern pattern{};
    std::string content{};  // replace: the new text; strip and metaspace: a character; word_piece: a prefix
    std::size_t start = 0, stop = 0;
    bool takes_prefix = false;
  };

  std::vector<Step> steps_;
};

/// Returns the byte of a token "<0x0A>", as SentencePiece writes bytes; -1 for other tokens.
int byte_of_token(std::string_view token);

/// Returns the token of a byte: "<0x0A>".
std::string token_of_byte(unsigned char byte);

}  // namespace dikkat
