#pragma once

// Properties that must hold for every accepted weight file.

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat::fuzz {

inline void hold_value(const MetaValue& value) {
  hold(!value.text().empty(), "a value has a text");
  if (const MetaArray* array = value.array()) {
    const auto strings = array->strings();
    const auto numbers = array->numbers();
    hold(!strings || static_cast<index>(strings->size()) == array->count, "an array has as many strings as it says");
    hold(!numbers || static_cast<index>(numbers->size()) == array->count, "an array has as many numbers as it says");
    static_cast<void>(array->integers());
    for (const std::string_view text : strings.value_or(std::vector<std::string_view>{})) {
      hold(text.empty() || text.back() == text[text.size() - 1], "a string can be read");
    }
  }
}

/// Tensors are inside the file, are as large as their shapes require, and can be read; values too.
inline void hold_weights(const WeightFile& file, std::span<const std::byte> bytes) {
  for (const WeightTensor& tensor : file.tensors()) {
    hold(file.find(tensor.name) == &tensor, "a tensor is found by its name");
    hold(tensor.elements == element_count(tensor.shape) && tensor.shape.size() <= WeightTensor::kMaxRank, "a tensor has its elements");
    hold(!tensor.type_name.empty(), "a tensor has a type");
    if (tensor.bytes > 0) {
      const std::less_equal<const std::byte*> not_after;
      hold(not_after(bytes.data(), tensor.data) && not_after(tensor.data, bytes.data() + bytes.size()) &&
               tensor.bytes <= bytes.data() + bytes.size() - tensor.data,
           "a tensor lies in the file");
    }
    if (tensor.type != WeightType::other) {
      hold(byte_count(layout_of(tensor.type), tensor.shape) == tensor.bytes, "a tensor has its bytes");
      std::vector<float> values(static_cast<std::size_t>(tensor.elements));
      read_f32(tensor, 0, tensor.elements, values.data());
      const index middle = tensor.elements / 2;
      read_f32(tensor, middle, tensor.elements - middle, values.data());
    } else {
      hold(tensor.elements == 0 || !accepts([&] {
             float value = 0;
             read_f32(tensor, 0, 1, &value);
           }),
           "another type is not converted");
    }
  }
  for (const MetaEntry& entry : file.metadata()) {
    hold(file.value(entry.key) == &entry.value, "a value is found by its key");
    hold_value(entry.value);
  }
}

}  // namespace dikkat::fuzz
