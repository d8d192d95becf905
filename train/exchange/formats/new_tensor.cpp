#include "train/exchange/formats/new_tensor.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "autograd/base/error.h"
#include "train/exchange/formats/convert.h"

namespace dikkat {

NewTensor new_tensor(std::string name, WeightType type, std::vector<index> shape, const float* values) {
  return {.name = std::move(name), .type = type, .shape = std::move(shape), .values = [values](index first, index count, float* out) {
            std::copy_n(values + first, count, out);
          }};
}

index bytes_of(const NewTensor& tensor, std::size_t most_rank) {
  const BlockLayout layout = layout_of(tensor.type);
  const bool negative = std::any_of(tensor.shape.begin(), tensor.shape.end(), [](index extent) { return extent < 0; });
  require_input(can_be_written(tensor.type) && !negative && tensor.shape.size() <= most_rank, "tensor ", in_quotes(tensor.name), " (",
                tensor.type, " ", shape_text(tensor.shape), ") cannot be written: expected at most ", most_rank, " extents of 0 or more");
  const auto bytes = byte_count(layout, tensor.shape);
  require_input(bytes.has_value(), "tensor ", in_quotes(tensor.name), " (", tensor.type, " ", shape_text(tensor.shape),
                ") cannot be written: expected rows of whole blocks of ", layout.elements, " elements, and less than 2^63 bytes");
  return *bytes;
}

void put_elements(ByteSink& sink, const NewTensor& tensor) {
  constexpr index kPiece = index{1} << 20;  // elements; a multiple of every type's block
  const BlockLayout layout = layout_of(tensor.type);
  const index elements = element_count(tensor.shape).value_or(0);
  std::vector<float> values(static_cast<std::size_t>(std::min(elements, kPiece)));
  std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(layout.elements) * static_cast<std::size_t>(layout.bytes));
  for (index first = 0; first < elements; first += kPiece) {
    const index count = std::min(kPiece, elements - first);
    tensor.values(first, count, values.data());
    try {
      encode(tensor.type, values.data(), count, bytes.data());
    } catch (const InputError& error) {
      fail_input("tensor ", in_quotes(tensor.name), ": ", error.what());
    }
    sink.put(std::span(bytes).first(static_cast<std::size_t>(count / layout.elements * layout.bytes)));
  }
}

void put_zeros(ByteSink& sink, index count) {
  constexpr std::array<std::byte, 4096> kZeros{};
  for (index left = count; left > 0; left -= static_cast<index>(kZeros.size())) {
    sink.put(std::span(kZeros).first(static_cast<std::size_t>(std::min(left, static_cast<index>(kZeros.size())))));
  }
}

void require_different_names(std::span<const NewTensor> tensors, const std::string& path) {
  std::vector<std::string_view> names(tensors.size());
  std::transform(tensors.begin(), tensors.end(), names.begin(), [](const NewTensor& tensor) { return std::string_view(tensor.name); });
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  require_input(twice == names.end(), path, ": two tensors named ", twice == names.end() ? "" : in_quotes(*twice), " cannot be written");
}

}  // namespace dikkat
