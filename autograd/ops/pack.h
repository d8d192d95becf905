#pragma once

#include <functional>

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Writes `count` numbers, whole blocks of 32, in the form of a packing: bf16, or blocks of ggml's q8_0 or q4_0.
using EncodeNumbers = std::function<void(PackedType packing, const float* numbers, index count, std::byte* out)>;

/// Packs the numbers in a matrix's part of the store's slab (ParameterStore::keep_packed()).
void pack(ParameterStore& store, ParameterStore::Entry& entry, PackedType packing, const EncodeNumbers& encode);

}  // namespace dikkat
