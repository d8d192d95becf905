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

/// A text that a tokenizer cannot encode. what() reads "byte 17: PROBLEM".
class EncodeError : public InputError {
 public:
  /// `offset` counts bytes of the text, of the document numbered `document` where there are several.
  EncodeError(index offset, std::string problem, index document = 0);

  index offset() const { return offset_; }
  index document() const { return document_; }
  const std::string& problem() const { return problem_; }

 private:
  index offset_;
  index document_;
  std::string problem_;
};

/// The tokens that an encoder-decoder needs besides those of the text.
struct SequenceTokens {
  Token pad;    // fills rows up to the longest
  Token start;  // what a decoder reads first
  Token end;    // what it writes last; ends a source too

  bool operator==(const SequenceTokens&) const = default;
};

/// Turns text into token ids and back. Immutable: any number of threads may use one at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The name that configurations and checkpoints give it.
  virtual std::string_view kind() const = 0;
  /// Ids are 0 to vocab_size() - 1.
  virtual index vocab_size() const = 0;
  /// Throws EncodeError, which has the byte offset, for text that has no tokens.
  virtual std::vector<Token> encode(std::string_view text) const = 0;
  /// How many bytes at the start of a text have tokens that do not depend on what follows the text; 0 where that is hard to tell. With it,
  /// a text that does not fit into memory is encoded chunk by chunk.
  virtual index settled(std::string_view) const { return 0; }
  /// The text of the tokens, byte for byte what encode() got (a kind that drops some of a text documents what). Tokens may end within a
  /// UTF-8 character: a caller that prints tokens as they come holds back utf8::incomplete_tail(). Throws Error for an id outside the
  /// vocabulary.
  virtual std::string decode(std::span<const Token> tokens) const = 0;
  /// A JSON text from which tokenizer_from_json() builds the same tokenizer again.
  virtual std::string to_json() const = 0;
  /// The token put between documents, where the kind has one.
  virtual std::optional<Token> separator() const { return std::nullopt; }
  /// Tokens that no text is encoded to. Sampling never draws them.
  virtual std::vector<Token> unwritten() const { return {}; }
  /// Whether decode(encode(text)) is the text for every text, so that the tokens tell all of its bytes.
  virtual bool is_lossless() const { return true; }
  /// The special tokens that an encoder-decoder needs, where the kind has them.
  virtual std::optional<SequenceTokens> sequence_tokens() const { return std::nullopt; }
};

/// The tokenizer that to_json() described, or a tokenizer.json of Hugging Face (bpe_files.h). Throws InputError for anything else: the text
/// may come from a file of any origin.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json);

}  // namespace dikkat
