#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/added_tokens.h"
#include "train/text/around_text.h"
#include "train/text/bpe_vocabulary.h"
#include "train/text/tokenizer.h"

namespace dikkat {

class CharacterBpe;

/// The contents of a tokenizer.json with a BPE model of any kind, or a WordLevel: a text is normalized, split into words, and each word is
/// merged, or is a token.
struct BpePipeline {
  std::shared_ptr<const CharacterBpe> bpe;
  AddedTokens added_tokens{};  // by id; each is a token of `bpe` too, or its id is free there, or comes after its last id
  // The fields of the file with these names, in JSON.
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string decoder = "null";
  TextTokens text_tokens{};  // as far as the files define them

  /// Returns the number of ids, including those of added tokens.
  index size() const;
  /// Returns a token as files write it, 0 <= id < size(); empty if no token has the id.
  std::string text_of(Token id) const;
  TokenType type_of(Token id) const;
};

/// BPE as a tokenizer.json describes it. BpeTokenizer is faster for the byte-level kind with a splitter that it knows.
///
/// Special tokens are never produced by encode(): a text that contains their names is encoded as ordinary text. Other added tokens are.
class PipelineTokenizer : public Tokenizer {
 public:
  /// Throws InputError for steps that this program does not know, for added tokens with ids of other tokens, and if text_tokens are not
  /// added tokens.
  explicit PipelineTokenizer(BpePipeline contents);
  ~PipelineTokenizer() override;

  const BpePipeline& contents() const { return contents_; }
  /// Returns this tokenizer with other tokens around a text.
  std::unique_ptr<PipelineTokenizer> with_text_tokens(TextTokens tokens) const;
  /// Returns this tokenizer without the special tokens whose ids are `size` or more; nullptr if other tokens have such ids.
  std::unique_ptr<PipelineTokenizer> cut_to(index size) const;

  /// Returns whether tokens hold bytes in the printable characters of byte_level.h, and every byte has one.
  bool is_byte_level() const;
  /// Calls f for each word of a text that encode() encodes by itself, in the spelling of tokens. Throws EncodeError for text that is not
  /// UTF-8.
  void for_words(std::string_view text, const std::function<void(std::string_view word)>& f) const;

  /// Returns "symbols" for a vocabulary of given strings, otherwise "bpe".
  std::string_view kind() const override;
  index vocab_size() const override { return contents_.size(); }
  /// Throws EncodeError for text that is not UTF-8, and for a character or word that the vocabulary cannot express.
  std::vector<Token> encode(std::string_view text) const override;
  std::vector<Token> encode_with_markup(std::string_view text, std::span<const ByteRange> markup) const override;
  index stable_prefix(std::string_view text) const override;
  std::string decode(std::span<const Token> tokens) const override;
  std::string decode_inside(std::span<const Token> tokens) const override;
  bool puts_spaces_between() const override;
  /// Returns pipeline_json().
  std::string to_json() const override;
  std::optional<Token> separator() const override { return separator_of(contents_.added_tokens, contents_.text_tokens); }
  std::vector<Token> suppressed_tokens() const override;
  bool is_lossless() const override;
  std::vector<SpecialToken> special_tokens() const override;
  TextTokens text_tokens() const override { return all_text_tokens(contents_.added_tokens, contents_.text_tokens); }

 private:
  struct Steps;

  void split(std::string_view text, std::span<const ByteRange> markup, const std::function<void(std::string_view)>& on_word,
             const std::function<void(Token)>& on_token) const;
  std::string text_of(std::span<const Token> tokens, bool begins_text) const;

  BpePipeline contents_;
  std::shared_ptr<const Steps> steps_;
};

/// Returns llama.cpp's name (tokenizer.ggml.pre) for the rule of a byte-level tokenizer; nullopt if it has none that this program knows.
std::optional<std::string_view> gguf_pre_of(const BpePipeline& contents);
/// Returns whether named_pipeline() knows the rule. Rules of a Splitter do not count: BpeTokenizer has them.
bool has_named_pipeline(std::string_view gguf_pre);
/// Returns the names of these rules, for messages.
std::string named_pipelines();
/// Returns a byte-level tokenizer with the rule that llama.cpp calls `gguf_pre`.
BpePipeline named_pipeline(std::string_view gguf_pre, std::vector<std::string> tokens, std::vector<Merge> merges, AddedTokens added,
                           TextTokens text_tokens);

/// Returns whether a tokenizer's steps put a space before a text that does not begin with one.
bool puts_space_before(const BpePipeline& contents);

}  // namespace dikkat
