#pragma once

#include "autograd/tape/parameters.h"

namespace dikkat {

/// Whether the parameter can lie packed: vectors stay as they are, and so does the table of positions, which is small.
bool can_be_packed(const ParameterStore::Entry& entry);
/// Packs a weight of a model that will not be trained, with the rounding of ggml's quantizers. What cannot be packed stays as it is; so
/// does everything with PackedType::none. Throws InputError for a number that the packing cannot hold.
void pack_weight(ParameterStore& store, ParameterStore::Entry& entry, PackedType packing);
/// The same of a parameter whose values have just been loaded, as it was frozen (ParameterStore::freeze()).
void pack_frozen(ParameterStore& store, ParameterStore::Entry& entry);
/// All weights of the store.
void pack_weights(ParameterStore& store, PackedType packing);

}  // namespace dikkat
