#pragma once

#include <nlohmann/json.hpp>

#include "train/text/added_tokens.h"

/// Added tokens in a tokenizer.json. This header is private to its folder.
namespace dikkat {

/// Returns the name and the flags of an added token.
nlohmann::ordered_json flags_of(const AddedToken& token);
/// Returns "added_tokens".
nlohmann::ordered_json added_tokens_of(const AddedTokens& tokens);

/// Reads "added_tokens", which may be null. Throws InputError for anything but an array of objects with distinct ids.
AddedTokens added_tokens_from(const nlohmann::json& list);

}  // namespace dikkat
