#pragma once

#include <map>
#include <string>

#include "train/text/token.h"

namespace dikkat {

/// A token that is found in a text by its name, before the text is split into pieces. Special tokens are found only on request; the others,
/// such as Qwen 3's <tool_call>, are text and are always found. The flags are those of tokenizer.json.
struct AddedToken {
  std::string name{};
  bool special = true;
  bool normalized = false;   // searched for in the normalized text instead of the original
  bool lstrip = false;       // also takes the white space before it
  bool rstrip = false;       // also takes the white space after it
  bool single_word = false;  // not found next to a word character

  bool operator==(const AddedToken&) const = default;
};

using AddedTokens = std::map<Token, AddedToken>;

}  // namespace dikkat
