#pragma once

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Packs a weight of a model that will not be trained, with the rounding of ggml's quantizers. Vectors, and the table of positions, which
/// is small, stay as they are; so does everything with PackedType::none. Throws InputError for a number that the packing cannot hold.
void pack_weight(ParameterStore& store, ParameterStore::Entry& entry, PackedType packing);
/// All weights of the store.
void pack_weights(ParameterStore& store, PackedType packing);

}  // namespace dikkat
