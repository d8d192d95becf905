#pragma once

#include <memory>

#include "train/exchange/export_model.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Tensors of a GGUF file that hold no weights: the divisors of RoPE's frequencies.
inline constexpr std::string_view kGgufBuffers[] = {"rope_freqs.weight"};

/// Reads the values of a GGUF file that describe the model. Throws InputError for an architecture that is not in the table of families, for
/// values that this program's models do not have, and for RoPE frequencies that are not scaled as Llama 3.1's.
ForeignConfig read_gguf_config(const WeightFile& file);

/// The values of a GGUF file of such a model, and of its tokenizer.
std::vector<MetaEntry> gguf_metadata(const Family& family, const TransformerConfig& model, const Tokenizer& tokenizer,
                                     const ExportOptions& options);
/// Those of the tokenizer, for a model with `rows` rows of the token table. Tokenizers of characters and of bytes become RWKV's kind, which
/// takes the longest token at each place of a text: here a character or byte. Throws InputError for a kind other than these and BPE.
void add_gguf_tokenizer(const Tokenizer& tokenizer, index rows, std::vector<MetaEntry>& metadata);
/// Adds the divisors of RoPE's frequencies, where they are scaled as Llama 3.1's.
void add_gguf_rope_divisors(const TransformerConfig& model, std::vector<NewTensor>& tensors);

/// Reads its tokenizer. Throws InputError for a kind other than byte-level BPE and RWKV's of single characters or bytes, and for a splitter
/// that is not known.
std::unique_ptr<Tokenizer> read_gguf_tokenizer(const WeightFile& file);

}  // namespace dikkat
