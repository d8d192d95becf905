#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// The numbers in the header of llm.c's model file.
struct LlmcHeader {
  index max_seq_len = 0;        ///< T, rows of wpe
  index vocab_size = 0;         ///< V
  index layers = 0;             ///< L
  index heads = 0;              ///< divides channels
  index channels = 0;           ///< C
  index padded_vocab_size = 0;  ///< Vp >= V, rows of wte; llm.c makes it a multiple of 128

  bool operator==(const LlmcHeader&) const = default;
};

/// A tensor of the file, which holds all layers.
struct LlmcTensor {
  std::string name;
  std::vector<index> shape{};
};

/// Returns the 16 tensors in the order of the file: wte (Vp, C), wpe (T, C), ln1w, ln1b (L, C), qkvw (L, 3C, C), qkvb (L, 3C), attprojw (L,
/// C, C), attprojb (L, C), ln2w, ln2b (L, C), fcw (L, 4C, C), fcb (L, 4C), fcprojw (L, C, 4C), fcprojb (L, C), lnfw, lnfb (C). Weights are
/// (out, in).
std::vector<LlmcTensor> llmc_tensors(const LlmcHeader& header);

/// Returns whether these bytes begin a model file of llm.c, of any version.
bool is_llmc(std::span<const std::byte> bytes);

/// Opens a model file of llm.c, version 3 (f32) or 5 (bf16). Its values are the members of LlmcHeader, as i32. Throws InputError, beginning
/// with the path, for an invalid header, and for a file whose length does not match its header.
WeightFile open_llmc(const std::string& path);

/// Opens an llm.c file in memory, which must outlive the result. Errors begin with `name`.
WeightFile parse_llmc(std::span<const std::byte> bytes, const std::string& name);

/// Writes an llm.c file, of version 3 if the tensors are f32, or 5 if they are bf16. Atomic, as write_file() is. Throws InputError unless
/// the tensors are llmc_tensors(header), in this order and all of one of these types.
void write_llmc(const std::string& path, const LlmcHeader& header, const std::vector<NewTensor>& tensors, Faults* faults = nullptr);

}  // namespace dikkat
