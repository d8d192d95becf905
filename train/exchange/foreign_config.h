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
  ClassifyConfig classify{};         // the labels of a classifier
};

/// Returns the keys of [model], such as "model.gated", that an export of the family would silently lose. A key is known if the family's
/// tables fix or name it for each format, or if foreign_config.cpp lists why they need not.
std::vector<std::string> unknown_keys(const Family& family);

/// Returns the context that exported files name: the model's, or with LongRoPE the longer one for which the files also have factors.
index exported_context(const TransformerConfig& model);

/// Return LongRoPE's lists as files have them: one number for each pair that RoPE rotates.
std::vector<double> short_factors(const TransformerConfig& model);
std::vector<double> long_factors(const TransformerConfig& model);

/// Returns a remark on a model whose files name a longer context than dikkat can read; empty if there is none.
std::string note_on_long_context(const TransformerConfig& model, const std::string& name);

/// Returns all families that can describe this model, in the order of the table. If there is none, `why` lists what the nearest one lacks.
std::vector<const Family*> families_of(const TransformerConfig& model, std::string& why);

/// Returns the first family that can describe this model. If there is none, returns null, and `why` lists what the nearest family lacks:
/// "model.positions is "none", expected "rope" (llama, the nearest)". Throws Error if a key of [model] is unknown to a family.
const Family* family_of(const TransformerConfig& model, std::string& why);

}  // namespace dikkat
