#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "train/sample/generate.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the ids of a tokenizer that sampling may draw. With `until_end`, a sample ends at the token that ends every text, or else at the
/// separator of documents, if the tokenizer has one.
Vocabulary vocabulary_of(const Tokenizer& tokenizer, bool until_end = true);

/// Returns vocabulary_of() for answers in a conversation. They also end at `end`, the end of a turn. It and the tokens of `marks` may be
/// drawn although they are special.
Vocabulary answer_vocabulary(const Tokenizer& tokenizer, std::optional<Token> end, std::vector<Token> marks = {});

/// Returns the prompt of a text without one: the token that begins every text, or else a line break. If the tokenizer has neither, returns
/// the separator of documents, or the first token.
std::vector<Token> default_prompt(const Tokenizer& tokenizer);

/// How the names of special tokens, such as <|im_start|>, are read in a prompt.
enum class SpecialNames {
  tokens,  // they stand for these tokens
  text,    // they are ordinary text
};

/// Returns the tokens of a prompt, after the token that begins every text, if there is one. Throws InputError for a text that the tokenizer
/// cannot encode, and for one without tokens.
std::vector<Token> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt, SpecialNames names = SpecialNames::tokens);

/// Returns the token before the continuation of a prompt: the prompt's last one. If the prompt is only the token that begins every text,
/// the continuation begins the text, and the result is nullopt, as for an empty prompt.
std::optional<Token> token_before_text(const Tokenizer& tokenizer, std::span<const Token> prompt);

/// Returns the token before a text that must match a grammar. The text has all bytes of its tokens, because the grammar counts them. If
/// Tokenizer::puts_spaces_between(), no space comes before the text, and the result is nullopt.
std::optional<Token> token_before_restricted(const Tokenizer& tokenizer, std::span<const Token> prompt);

}  // namespace dikkat
