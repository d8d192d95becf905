#pragma once

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Returns whether the parameter can be packed. Vectors, the table of positions and the gates of value embeddings remain f32.
bool can_be_packed(const ParameterStore::Entry& entry);
/// Packs a weight of a model that will not be trained, with the rounding of ggml's quantizers. Does nothing if the weight cannot be packed,
/// or if `packing` is PackedType::f32. Throws InputError for a number that the packing cannot hold.
void pack_weight(ParameterStore& store, ParameterStore::Entry& entry, PackedType packing);
/// Packs a parameter that has just been loaded with the packing that it was frozen with (ParameterStore::freeze()).
void pack_frozen(ParameterStore& store, ParameterStore::Entry& entry);
/// Packs all weights of the store, by pack_weight().
void pack_weights(ParameterStore& store, PackedType packing);

}  // namespace dikkat
