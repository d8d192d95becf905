#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "train/exchange/foreign_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Reads Hugging Face's config.json, as transformers 4 and 5 write it. Throws InputError, beginning with `name`, for a model_type that is
/// not in the table of families, and for values that this program does not support.
ForeignConfig read_hf_config(std::string_view text, const std::string& name);

/// The entries of config.json that do not belong to [model].
struct HfExtras {
  std::string_view dtype = "float32";  // torch's name of the weights' type
  std::optional<Token> bos{}, eos{};
  const ClassifyConfig* classify = nullptr;  // the labels of a classifier; null: the model predicts the next token
};
/// Returns the config.json of a model of this family (family_of()).
std::string hf_config_text(const Family& family, const TransformerConfig& model, const HfExtras& extras);

}  // namespace dikkat
