#include "train/model/fake_quantized_weights.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/exchange/formats/convert.h"
#include "train/model/pack_weights.h"

namespace dikkat {
namespace {

constexpr index kEncodedAtOnce = 1 << 20;  // numbers; a multiple of kScaleBlock

}  // namespace

FakeQuantizedWeights::FakeQuantizedWeights(const ParameterStore& store) {
  index numbers = 0;
  for (ParameterStore::Entry* entry : store.entries()) {
    if (!can_be_packed(*entry)) {
      continue;
    }
    const index cols = entry->shape()[1];
    require_input(cols % kScaleBlock == 0, "train.quantize = \"q4\" needs matrices whose rows are multiples of ", kScaleBlock,
                  " numbers, the block of q4_0; ", entry->path, " has rows of ", cols, ": choose such a model.n_embd and model.n_hidden");
    matrices_.push_back({entry, numbers});
    numbers += entry->size();
  }
  bytes_ = static_cast<std::size_t>(numbers) * sizeof(float);
}

void FakeQuantizedWeights::reserve() {
  copy_ = Pages(bytes_, "rounded weights");
  const BlockLayout layout = layout_of(WeightType::q4_0);
  index largest = 0;
  for (const Matrix& matrix : matrices_) {
    largest = std::max(largest, std::min(matrix.entry->size(), kEncodedAtOnce));
  }
  encoded_.resize(static_cast<std::size_t>(largest / layout.elements * layout.bytes));
}

void FakeQuantizedWeights::show() {
  for (const Matrix& matrix : matrices_) {
    const auto* exact = static_cast<const float*>(matrix.entry->values);
    float* const rounded = reinterpret_cast<float*>(copy_.data()) + matrix.offset;
    for (index first = 0; first < matrix.entry->size(); first += kEncodedAtOnce) {
      const index count = std::min(kEncodedAtOnce, matrix.entry->size() - first);
      encode(WeightType::q4_0, exact + first, count, encoded_.data());
      const WeightTensor blocks{.name = {}, .type = WeightType::q4_0, .type_name = {}, .elements = count, .data = encoded_.data()};
      read_f32(blocks, 0, count, rounded + first);
    }
  }
  for (const Matrix& matrix : matrices_) {
    matrix.entry->record.data = reinterpret_cast<float*>(copy_.data()) + matrix.offset;
  }
}

void FakeQuantizedWeights::hide() {
  for (const Matrix& matrix : matrices_) {
    matrix.entry->record.data = matrix.entry->values;
  }
}

}  // namespace dikkat
