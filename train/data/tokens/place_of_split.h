#pragma once

#include <string_view>

#include "autograd/base/index.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns where a text is split into training and validation: the last place at or before byte `at`, 0 <= at < text.size(), that is good
/// for the tokenizer. Words stay whole, and so do symbols, for which the beginning of a line is better if it is near. Other kinds only keep
/// characters whole. `text` begins where its tokens can be cut; it may end within a symbol. Never throws EncodeError.
index place_of_split(const Tokenizer& tokenizer, std::string_view text, index at);

}  // namespace dikkat
