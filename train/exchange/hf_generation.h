#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/exchange/foreign_config.h"
#include "train/exchange/hf_reader.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the ids of eos_token_id, which is an id, a list of ids, or missing. Throws InputError for other values and for ids that the
/// model does not have.
std::vector<Token> hf_end_tokens(const HfReader& reader, index vocab_size);

/// The file that decides how answers are drawn. Without a generation_config.json, transformers takes the keys of config.json.
enum class GenerationFile { generation_config, config };

/// Adds the file's settings of generation to `config`: eos_token_id, and how answers are drawn (do_sample, temperature, top_k, top_p,
/// min_p, repetition_penalty). Adds a note that names the keys which would change the text but are not used. If the file has any key of
/// drawing, missing keys have transformers' defaults. Throws InputError, beginning with `name`, for values that are not valid.
void add_hf_generation(std::string_view text, const std::string& name, GenerationFile file, ForeignConfig& config);

/// Returns the generation_config.json of a model whose texts begin and end with these tokens, and whose answers are drawn in this way.
std::string hf_generation_text(const TextTokens& tokens, const AnswerSampling& sampling);

}  // namespace dikkat
