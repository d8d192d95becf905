#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/formats/new_tensor.h"
#include "train/exchange/formats/weight_file.h"

namespace dikkat::formats_test {

inline std::string fixture(const std::string& name) {
  return std::string(DIKKAT_SOURCE_DIR "/tests/train/exchange/formats/fixtures/") + name;
}

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

/// make_fixtures.py's element(): the elements of every fixture's tensors.
inline float element(std::string_view name, index i) {
  std::uint32_t crc = 0xFFFF'FFFF;  // zlib's
  for (const char c : name) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB8'8320 : 0);
    }
  }
  return static_cast<float>((index{~crc % 7} + 3 * i) % 61) / 4 - 8;
}

inline std::vector<float> elements(std::string_view name, index count) {
  std::vector<float> values;
  for (index i = 0; i < count; ++i) {
    values.push_back(element(name, i));
  }
  return values;
}

inline std::vector<float> read_all(const WeightTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements));
  read_f32(tensor, 0, tensor.elements, values.data());
  return values;
}

/// Expects the tensor with this type and shape, and the elements of make_fixtures.py.
inline void expect_tensor(const WeightFile& file, const std::string& name, WeightType type, const std::vector<index>& shape,
                          const std::string& element_name = "") {
  SCOPED_TRACE(name);
  const WeightTensor* tensor = file.find(name);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->type, type);
  EXPECT_EQ(tensor->shape, shape);
  EXPECT_EQ(tensor->elements, element_count(shape));
  EXPECT_EQ(read_all(*tensor), elements(element_name.empty() ? name : element_name, tensor->elements));
}

/// A tensor to write whose elements are those of make_fixtures.py.
inline NewTensor made(const std::string& name, WeightType type, const std::vector<index>& shape) {
  return {.name = name, .type = type, .shape = shape, .values = [name](index first, index count, float* out) {
            for (index i = 0; i < count; ++i) {
              out[i] = element(name, first + i);
            }
          }};
}

/// Numbers and texts in the encoding of these files.
class Bytes {
 public:
  template <class T>
  Bytes& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Bytes& string(std::string_view text) { return number(std::uint64_t{text.size()}).raw(text); }
  Bytes& zeros(std::size_t count) {
    text_.append(count, '\0');
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_{};
};

}  // namespace dikkat::formats_test
