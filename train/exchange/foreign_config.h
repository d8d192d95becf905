#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layers/transformer_config.h"
#include "train/config/config.h"
#include "train/exchange/family.h"
#include "train/text/token.h"

namespace dikkat {

/// A model's configuration, as read from another program's files.
struct ForeignConfig {
  const Family* family = nullptr;
  TransformerConfig model;           // with all defaults
  std::vector<Token> end_tokens;     // tokens that end a text; empty if the files name none
  std::vector<std::string> notes{};  // remarks to print: settings that are ignored, and contradictions
  AnswerSampling sampling{};         // how the model's owner draws answers
};

/// Returns the keys of [model], such as "model.gated", that an export of the family would silently lose. A key is known if the tables of
/// the family fix or name it for each format, or if foreign_config.cpp lists why this is not needed.
std::vector<std::string> unknown_keys(const Family& family);

/// Returns all families that can describe this model, in the order of families(). Hugging Face has several classes for some models: a
/// Granite can also be a GraniteMoeHybrid, whose modules have other names.
std::vector<const Family*> families_of(const TransformerConfig& model);

/// Returns the first family that can describe this model. If there is none, returns null, and `why` lists what the nearest family lacks:
/// "model.positions is "none", expected "rope" (llama, the nearest)". Throws Error if a key of [model] is unknown to a family.
const Family* family_of(const TransformerConfig& model, std::string& why);

}  // namespace dikkat
