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

/// Adds what a generation_config.json says: its eos_token_id to config.end_tokens, and how answers are drawn. Throws InputError as above.
void add_hf_generation(std::string_view text, const std::string& name, ForeignConfig& config);

/// The entries of config.json that do not belong to [model].
struct HfExtras {
  std::string_view dtype = "float32";  // torch's name of the weights' type
  std::optional<Token> bos{}, eos{};
};
/// Returns the generation_config.json of a model whose texts begin and end with these tokens, and whose answers are drawn so.
std::string hf_generation_text(const TextTokens& tokens, const AnswerSampling& sampling);
/// Returns the config.json of a model of this family (family_of()).
std::string hf_config_text(const Family& family, const TransformerConfig& model, const HfExtras& extras);

}  // namespace dikkat
