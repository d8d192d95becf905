#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "train/exchange/foreign_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Reads a config.json of Hugging Face, of transformers 4 or 5. Throws InputError, beginning with `name`, for a model_type that is not in
/// the table of families, and for values that this program's models do not have.
ForeignConfig read_hf_config(std::string_view text, const std::string& name);

/// Adds the eos_token_id of a generation_config.json to config.end_tokens. Throws InputError as above.
void add_hf_end_tokens(std::string_view text, const std::string& name, ForeignConfig& config);

/// What config.json says besides the model.
struct HfExtras {
  std::string_view dtype = "float32";  // of the weights, as torch names it
  std::optional<Token> bos{}, eos{};
};
/// The generation_config.json of a model whose texts begin and end with these tokens.
std::string hf_generation_text(const TextTokens& tokens);
/// The config.json of a model of this family (family_of()).
std::string hf_config_text(const Family& family, const TransformerConfig& model, const HfExtras& extras);

}  // namespace dikkat
