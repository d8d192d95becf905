#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

/// Thrown for a text that a tokenizer cannot encode. what() is "byte 17: PROBLEM".
class EncodeError : public InputError {
 public:
  /// `offset` is in bytes, from the start of the text or, if there are several documents, of the document with the index `document`.
  EncodeError(index offset, std::string problem, index document = 0);

  index offset() const { return offset_; }
  index document() const { return document_; }
  const std::string& problem() const { return problem_; }

 private:
  index offset_;
  index document_;
  std::string problem_;
};

/// The special tokens that an encoder-decoder needs.
struct SequenceTokens {
  Token pad;    // pads rows to the length of the longest
  Token start;  // the first token of the decoder input
  Token end;    // the last token of a target, and of a source

  bool operator==(const SequenceTokens&) const = default;
};

/// A token that stands for no bytes of ordinary text: <|endoftext|>, <|im_start|>.
struct SpecialToken {
  Token id = 0;
  std::string name{};

  bool operator==(const SpecialToken&) const = default;
};

/// A part of a text: the bytes from `first` to `last`, which is not included.
struct ByteRange {
  index first = 0, last = 0;

  bool operator==(const ByteRange&) const = default;
};

/// The tokens around a text, as the tokenizer's owner uses them.
struct TextTokens {
  std::optional<Token> bos{};     // begins a text
  std::optional<Token> eos{};     // ends a text
  std::optional<Token> before{};  // the token that the owner's encode() puts before every text: bos, or nothing
  std::optional<Token> after{};   // the token that it puts after every text
  std::vector<Token> ends{};      // each of these ends generation: eos, and for a chat model the end of its turn

  bool operator==(const TextTokens&) const = default;
};

struct TokenizerJson;

/// Turns text into token ids and back. Immutable: threads may share a tokenizer.
class Tokenizer {
 public:
  /// Whether this class of tokenizers encodes every string of bytes (TokenizerKind::any_bytes).
  static constexpr bool kAnyBytes = false;

  virtual ~Tokenizer() = default;

  /// Returns the name of this kind of tokenizer in configurations and checkpoints.
  virtual std::string_view kind() const = 0;
  /// Ids are 0 to vocab_size() - 1.
  virtual index vocab_size() const = 0;
  /// Returns the tokens of a text. Throws EncodeError, which has the byte offset, for text that cannot be encoded.
  virtual std::vector<Token> encode(std::string_view text) const = 0;
  /// Encodes a text as encode() does, but the names of special tokens that lie within a range of `markup` become these tokens. The ranges
  /// are in order and do not touch. For prompts and chats, never for a corpus. Does not add text_tokens().
  virtual std::vector<Token> encode_with_markup(std::string_view text, std::span<const ByteRange>) const { return encode(text); }
  /// Encodes a text that is all markup.
  std::vector<Token> encode_with_special(std::string_view text) const;
  /// Returns the number of bytes at the start of `text` whose tokens do not depend on the text after it; 0 if not known. A text that does
  /// not fit into memory is split there and encoded chunk by chunk.
  virtual index stable_prefix(std::string_view) const { return 0; }
  /// Returns the text of the tokens. If is_lossless(), it has the bytes that encode() got. Tokens may end within a UTF-8 character: a
  /// caller that prints tokens as they come holds back utf8::incomplete_tail(). Throws Error for an id outside the vocabulary.
  virtual std::string decode(std::span<const Token> tokens) const = 0;
  /// Returns the text of tokens that follow other tokens. It differs from decode() for tokenizers that put a space before a text.
  virtual std::string decode_inside(std::span<const Token> tokens) const { return decode(tokens); }
  /// Returns whether decode() puts a space, which belongs to no token, between tokens other than line breaks.
  virtual bool puts_spaces_between() const { return false; }
  /// Returns a JSON text from which tokenizer_from_json() makes the same tokenizer.
  virtual std::string to_json() const = 0;
  /// Returns the token between documents, if this kind has one.
  virtual std::optional<Token> separator() const { return std::nullopt; }
  /// Returns the tokens that sampling must never draw, because no text is encoded to them.
  virtual std::vector<Token> suppressed_tokens() const { return {}; }
  /// Returns whether decode(encode(text)) equals every text. A tokenizer that normalizes returns the normal form of the text.
  virtual bool is_lossless() const { return true; }
  /// Returns all tokens that encode() never produces, by ascending id.
  virtual std::vector<SpecialToken> special_tokens() const { return {}; }
  virtual TextTokens text_tokens() const { return {}; }
  /// Returns the tokens that the tokenizer's owner would pass to a model: encode_with_special(), between text_tokens().before and .after.
  std::vector<Token> encode_for_model(std::string_view text) const;
  /// Returns the special tokens for an encoder-decoder, if this kind has them.
  virtual std::optional<SequenceTokens> sequence_tokens() const { return std::nullopt; }
};

/// Makes a tokenizer from the result of to_json(), or from a Hugging Face tokenizer.json (read_hugging_face_json.h). The text may come from
/// any file. Throws InputError for anything else.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json);

}  // namespace dikkat
