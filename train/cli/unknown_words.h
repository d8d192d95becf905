#pragma once

#include <string>

#include "train/text/tokenizer.h"

namespace dikkat {

/// Prints a warning with the words of a text that are not in the vocabulary of a word tokenizer, each once. `place` begins it.
void warn_of_unknown_words(const std::string& place, const Tokenizer& tokenizer, const std::string& text);

}  // namespace dikkat
