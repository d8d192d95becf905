#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layers/transformer_config.h"
#include "train/exchange/family.h"
#include "train/text/token.h"

namespace dikkat {

/// What another program's files say about a model, besides weights.
struct ForeignConfig {
  const Family* family = nullptr;
  TransformerConfig model;           // with all defaults
  std::vector<Token> end_tokens;     // that end a text; empty: not said
  std::vector<std::string> notes{};  // for people: what the files say that is not used, or that contradicts itself
};

/// Returns the keys of [model], such as "model.gated", that an export of the family would lose without a word. A key is known if the
/// family's tables fix or name it, for each format, or if foreign_config.cpp lists why that is not needed.
std::vector<std::string> unknown_keys(const Family& family);

/// The family that can say this model, or null. Then `why` has what stands in the way of the nearest one: "model.positions is "none",
/// expected "rope" (llama)". Throws Error if a key of [model] is unknown to a family.
const Family* family_of(const TransformerConfig& model, std::string& why);

}  // namespace dikkat
