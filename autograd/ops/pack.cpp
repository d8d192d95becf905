#include "autograd/ops/pack.h"

#include <algorithm>
#include <vector>

#include "autograd/kernels/gemm/packed.h"

namespace dikkat {

void pack(ParameterStore& store, ParameterStore::Entry& entry, PackedType packing, const EncodeNumbers& encode) {
  constexpr index kAtOnce = 1 << 20;  // numbers
  const auto* weight = static_cast<const float*>(entry.values);
  const index rows = entry.shape()[0];
  const index cols = entry.shape()[1];
  std::byte* panels = store.packed_place(entry, packing);
  // Rows are encoded as whole blocks. A row that ends within a block is copied and filled up with zeros.
  const index whole = packing == PackedType::bf16 ? cols : round_up(cols, kScaleBlock);
  const index some = std::clamp<index>(kAtOnce / std::max<index>(whole, 1), 1, rows);
  std::vector<float> copies(whole == cols ? 0 : static_cast<std::size_t>(some * whole));
  std::vector<std::byte> encoded(static_cast<std::size_t>(some * kernels::row_bytes(packing, cols)));
  for (index first = 0; first < rows; first += some) {
    const index count = std::min(some, rows - first);
    const float* numbers = weight + first * cols;
    if (whole != cols) {
      for (index row = 0; row < count; ++row) {
        std::copy_n(numbers + row * cols, cols, copies.data() + row * whole);
      }
      numbers = copies.data();
    }
    encode(packing, numbers, count * whole, encoded.data());
    kernels::pack_rows(packing, cols, first, count, encoded.data(), panels);
  }
  store.keep_packed(entry, packing);
}

}  // namespace dikkat
