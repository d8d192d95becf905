#pragma once

#include "train/exchange/export_model.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Tensors of a GGUF file that are not weights: the divisors of RoPE's frequencies.
inline constexpr std::string_view kShortFactors = "rope_factors_short.weight", kLongFactors = "rope_factors_long.weight";
inline constexpr std::string_view kGgufBuffers[] = {"rope_freqs.weight", kShortFactors, kLongFactors};

/// Reads the model's configuration from a GGUF file. Throws InputError for an architecture that is not in the table of families, and for
/// values that this program does not support. These include divisors of RoPE's frequencies other than Llama 3.1's, or LongRoPE's in phi3.
ForeignConfig read_gguf_config(const WeightFile& file);

/// Returns the values of a GGUF file with this model and tokenizer. Adds the notes of add_gguf_tokenizer().
std::vector<MetaEntry> gguf_metadata(const Family& family, const TransformerConfig& model, const Tokenizer& tokenizer,
                                     const ExportOptions& options, std::vector<std::string>& notes);
/// Adds the divisors of RoPE's frequencies if they are scaled as Llama 3.1's, or LongRoPE's two lists.
void add_gguf_rope_divisors(const TransformerConfig& model, std::vector<NewTensor>& tensors);

}  // namespace dikkat
