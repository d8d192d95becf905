#pragma once

#include <optional>
#include <string_view>

#include "train/text/added_tokens.h"
#include "train/text/tokenizer.h"

/// Derives facts from a tokenizer's added tokens and the tokens around a text, for BPE of all kinds.
namespace dikkat {

inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// Returns the id of the added token with this name.
std::optional<Token> added_token(const AddedTokens& added, std::string_view name);

/// Returns the token between documents: <|endoftext|> or <|end_of_text|> if it is a special token, otherwise around.eos.
std::optional<Token> separator_of(const AddedTokens& added, const TextTokens& around);

/// Returns `around` with missing members filled in. eos is `after` or the separator, and bos is `before` or the separator, which stands
/// before all documents except the first. ends are eos and the separator.
TextTokens all_text_tokens(const AddedTokens& added, const TextTokens& around);

/// Returns the tokens of a text that a model only reads: Tokenizer::encode() of it, between text_tokens().before and .after. Throws
/// EncodeError.
std::vector<Token> encode_whole(const Tokenizer& tokenizer, std::string_view text);

/// Throws InputError if one of the tokens around a text is not an added token.
void require_added(const AddedTokens& added, const TextTokens& around);

/// Returns the special tokens among the added ones, by ascending id.
std::vector<SpecialToken> special_tokens_of(const AddedTokens& added);

}  // namespace dikkat
