#include "train/model/pack_weights.h"

#include "autograd/ops/pack.h"
#include "train/exchange/formats/convert.h"

namespace dikkat {
namespace {

void encode_packed(PackedType packing, const float* numbers, index count, std::byte* out) {
  switch (packing) {
    case PackedType::f32: return;
    case PackedType::bf16: return encode(WeightType::bf16, numbers, count, out);
    case PackedType::q8: return encode(WeightType::q8_0, numbers, count, out);
    case PackedType::q4: return encode(WeightType::q4_0, numbers, count, out);
  }
}

/// Returns whether a matrix is never packed. Ops read positions and gates of value embeddings number by number, and both are small.
bool stays_f32(const std::string& path) { return path.ends_with("wpe.weight") || path.ends_with("value_gate.weight"); }

}  // namespace

bool can_be_packed(const ParameterStore::Entry& entry) { return entry.shape().rank() == 2 && !stays_f32(entry.path); }

void pack_weight(ParameterStore& store, ParameterStore::Entry& entry, PackedType packing) {
  if (packing != PackedType::f32 && can_be_packed(entry)) {
    pack(store, entry, packing, encode_packed);
  }
}

void pack_frozen(ParameterStore& store, ParameterStore::Entry& entry) { pack_weight(store, entry, entry.packing); }

void pack_weights(ParameterStore& store, PackedType packing) {
  for (ParameterStore::Entry* entry : store.entries()) {
    pack_weight(store, *entry, packing);
  }
}

}  // namespace dikkat
