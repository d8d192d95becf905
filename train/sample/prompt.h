#pragma once

#include <string>
#include <vector>

#include "train/sample/generate.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The ids of a tokenizer that sampling may draw. `until_end`: a sample ends with the token that ends every text, or else with the
/// separator of documents, if the vocabulary has one.
Vocabulary vocabulary_of(const Tokenizer& tokenizer, bool until_end = true);

/// Without a prompt, text begins with the token that begins every text, or after a line break. A vocabulary without one begins with its
/// separator of documents, or with its first token.
std::vector<Token> default_prompt(const Tokenizer& tokenizer);

/// The tokens of a prompt, after the token that begins every text, if there is one. `special`: names of special tokens stand for them.
/// Throws InputError for a text that the tokenizer cannot encode, and for one without tokens.
std::vector<Token> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt, bool special = false);

}  // namespace dikkat
