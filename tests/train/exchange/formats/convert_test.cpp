#include "train/exchange/formats/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "autograd/base/f16.h"
#include "autograd/base/parallel.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"
#include "train/exchange/formats/ggml_types.h"
#include "train/exchange/formats/gguf_reader.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

using testing::names;

using namespace formats_test;

std::string expected_digest(const char* name) {
  return nlohmann::json::parse(contents(fixture("conversions.json")))[name].get<std::string>();
}

template <class T>
std::string digest_of(const std::vector<T>& values) {
  return to_hex(sha256({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}));
}

WeightTensor tensor_of(WeightType type, const void* data, index elements) {
  return {.name = "t",
          .type = type,
          .type_name = std::string(name_of(type)),
          .shape = {elements},
          .elements = elements,
          .data = static_cast<const std::byte*>(data)};
}

std::vector<float> decoded(WeightType type, const void* data, index elements) { return read_all(tensor_of(type, data, elements)); }

std::vector<std::byte> encoded(WeightType type, const std::vector<float>& values) {
  const BlockLayout layout = layout_of(type);
  std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(layout.elements) * static_cast<std::size_t>(layout.bytes));
  encode(type, values.data(), static_cast<index>(values.size()), bytes.data());
  return bytes;
}

std::vector<std::uint16_t> encoded_halves(WeightType type, const std::vector<float>& values, std::uint16_t nan) {
  const auto bytes = encoded(type, values);
  std::vector<std::uint16_t> halves(values.size());
  std::memcpy(halves.data(), bytes.data(), bytes.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = std::isnan(values[i]) ? nan : halves[i];
  }
  return halves;
}

/// many_floats() of make_fixtures.py.
std::vector<float> many_floats() {
  std::vector<float> floats;
  for (std::uint32_t high = 0; high < 65536; ++high) {
    for (const std::uint32_t low : {0U, 1U, 0x0FFFU, 0x1000U, 0x1001U, 0x2FFFU, 0x3000U, 0x3001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      floats.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  return floats;
}

/// blocks_of_numbers() of make_fixtures.py.
std::vector<float> blocks_of_numbers() {
  std::uint32_t state = 1;
  std::vector<float> numbers;
  for (int block = 0; block < 8192; ++block) {
    const double scale = std::ldexp(1.0, block * 37 % 165 - 149);
    for (int i = 0; i < 32; ++i) {
      state = state * 1664525 + 1013904223;
      double number = (static_cast<double>(state >> 8) - 0x1p23) / 0x1p23;
      switch (block % 7) {
        case 0: number = state >> 31 != 0 ? -0.0 : 0.0; break;
        case 1: number = std::nearbyint(number * 8) / 8; break;
        case 2: number = std::nearbyint(number * 254) / 2 / 127; break;
        default: break;
      }
      numbers.push_back(static_cast<float>(number * scale));
    }
  }
  return numbers;
}

TEST(Convert, EveryF16IsTheF32OfNumpyAndPytorch) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(i);
  }
  std::vector<float> found = decoded(WeightType::f16, halves.data(), 65536);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(f16_to_float(halves[i])), std::bit_cast<std::uint32_t>(found[i]));
    const bool nan = (i & 0x7C00) == 0x7C00 && (i & 0x03FF) != 0;
    ASSERT_EQ(std::isnan(found[i]), nan) << i;
    found[i] = nan ? std::bit_cast<float>(0x7FC0'0000) : found[i];
  }
  EXPECT_EQ(digest_of(found), expected_digest("f16_to_f32"));
}

TEST(Convert, F32RoundsToTheF16OfNumpy) {
  for (const float value : {65519.0F, -65519.0F, 5.9e-8F, 1e-40F, 0.0F}) {
    EXPECT_EQ(encoded_halves(WeightType::f16, {value}, 0)[0], f16_of(value));
  }
  std::vector<std::uint16_t> found;
  for (const float value : many_floats()) {
    found.push_back(std::isnan(value) ? 0x7E00 : f16_of(value));
  }
  EXPECT_EQ(digest_of(found), expected_digest("f32_to_f16"));
}

TEST(Convert, F32RoundsToTheBf16OfPytorchDenormalNumbersToo) {
  EXPECT_EQ(digest_of(encoded_halves(WeightType::bf16, many_floats(), 0x7FC0)), expected_digest("f32_to_bf16"));
}

TEST(Convert, AllF16AndBf16ComeBackFromF32) {
  std::vector<std::uint16_t> halves;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    if ((i & 0x7C00) != 0x7C00) {  // finite as f16; as bf16 that leaves out some
      halves.push_back(static_cast<std::uint16_t>(i));
    }
  }
  const auto count = static_cast<index>(halves.size());
  for (const WeightType type : {WeightType::f16, WeightType::bf16}) {
    EXPECT_EQ(encoded_halves(type, decoded(type, halves.data(), count), 0), halves) << name_of(type);
  }
}

TEST(Convert, NanAndInfinityAreKept) {
  const std::vector<float> special{std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                   -std::numeric_limits<float>::infinity()};
  for (const WeightType type : {WeightType::f64, WeightType::f32, WeightType::f16, WeightType::bf16}) {
    const auto bytes = encoded(type, special);
    const auto back = decoded(type, bytes.data(), 3);
    EXPECT_TRUE(std::isnan(back[0])) << name_of(type);
    EXPECT_EQ(back[1], special[1]) << name_of(type);
    EXPECT_EQ(back[2], special[2]) << name_of(type);
  }
}

TEST(Convert, BlocksAreByteForByteThoseOfGgml) {
  const std::vector<float> numbers = blocks_of_numbers();
  ASSERT_EQ(digest_of(numbers), expected_digest("numbers")) << "the test's own numbers";
  for (const WeightType type : {WeightType::q8_0, WeightType::q4_0}) {
    const std::string name(name_of(type));
    const auto bytes = encoded(type, numbers);
    EXPECT_EQ(digest_of(bytes), expected_digest(name.c_str())) << name;
    const auto back = decoded(type, bytes.data(), static_cast<index>(numbers.size()));
    EXPECT_EQ(digest_of(back), expected_digest((name + "_to_f32").c_str())) << name;
  }
}

/// The types that are only read, and where in a block f16 numbers lie.
struct OnlyRead {
  WeightType type;
  std::vector<std::size_t> halves;
};
const OnlyRead kOnlyRead[] = {{WeightType::q4_1, {0, 2}},   {WeightType::q5_0, {0}},   {WeightType::q5_1, {0, 2}},
                              {WeightType::q2_K, {80, 82}}, {WeightType::q3_K, {108}}, {WeightType::q4_K, {0, 2}},
                              {WeightType::q5_K, {0, 2}},   {WeightType::q6_K, {208}}, {WeightType::iq4_nl, {0}},
                              {WeightType::iq4_xs, {0}}};

/// Random bytes of quantized_types() of make_fixtures.py, by a type's id in files.
std::vector<std::uint8_t> random_blocks(const OnlyRead& type, std::uint32_t seed, std::size_t count) {
  const auto size = static_cast<std::size_t>(layout_of(type.type).bytes);
  std::vector<std::uint8_t> bytes(count * size);
  for (std::uint8_t& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(seed >> 24);
  }
  for (std::size_t block = 0; block < count; ++block) {
    for (const std::size_t half : type.halves) {
      bytes[block * size + half + 1] &= 0xBF;
    }
  }
  return bytes;
}

std::uint32_t id_of(WeightType type) {
  return std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(), [=](const GgmlType& t) { return t.type == type; })->number;
}

TEST(Convert, QuantizedNumbersHaveTheBitsOfGgml) {
  constexpr std::size_t kBlocks = 512;
  const WeightFile file = open_gguf(fixture("quantized.gguf"));
  EXPECT_EQ(file.tensors().size(), std::size(kOnlyRead));
  for (const OnlyRead& type : kOnlyRead) {
    const std::string name(name_of(type.type));
    SCOPED_TRACE(name);
    ASSERT_NE(file.find(name), nullptr);
    EXPECT_EQ(file.find(name)->type, type.type);
    EXPECT_EQ(digest_of(read_all(*file.find(name))), expected_digest(name.c_str()));
    const auto bytes = random_blocks(type, id_of(type.type), kBlocks);
    const auto found = decoded(type.type, bytes.data(), static_cast<index>(kBlocks) * layout_of(type.type).elements);
    EXPECT_EQ(digest_of(found), expected_digest((name + "_random").c_str()));
  }
}

TEST(Convert, AScaleThatIsNotFiniteIsRefusedWithItsTensor) {
  for (const OnlyRead& type : kOnlyRead) {
    for (const std::size_t half : type.halves) {
      for (const int upper : {0x7C, 0xFC, 0x7E}) {  // infinity, of both signs, and NaN
        auto bytes = random_blocks(type, 1, 3);
        const std::size_t at = bytes.size() / 3 + half;
        bytes[at] = 0;
        bytes[at + 1] = static_cast<std::uint8_t>(upper);
        EXPECT_TRUE(names(input_error_of([&] { decoded(type.type, bytes.data(), 3 * layout_of(type.type).elements); }),
                          {"\"t\"", std::string(name_of(type.type)), "scale", "finite"}));
      }
    }
  }
}

TEST(Convert, ABlockByHand) {
  std::vector<float> values(32);
  values[0] = -8;
  values[1] = 3;
  values[17] = 7;
  const auto q4 = encoded(WeightType::q4_0, values);  // the scale is -8 / -8 = 1
  EXPECT_EQ(q4[0], std::byte{0x00});
  EXPECT_EQ(q4[1], std::byte{0x3C});
  EXPECT_EQ(q4[2], std::byte{0x80});  // 16: 0, 0: -8
  EXPECT_EQ(q4[3], std::byte{0xFB});  // 17: 7, 1: 3
  EXPECT_EQ(decoded(WeightType::q4_0, q4.data(), 32), values);
  values[0] = -127;
  const auto q8 = encoded(WeightType::q8_0, values);
  EXPECT_EQ(q8[2], std::byte{0x81});
  EXPECT_EQ(q8[3], std::byte{3});
  EXPECT_EQ(decoded(WeightType::q8_0, q8.data(), 32), values);
}

// The bytes are those of ggml's own quantizers, like those of conversions.json.
TEST(Convert, ABlockWhoseCodesDependOnHowEachStepRounds) {
  std::vector<float> values(32);
  values[0] = -0x1.5fcfe8p+0F;
  values[1] = 0x1.33d5e8p-1F;  // 11 where product and sum are rounded at once
  const auto q4 = encoded(WeightType::q4_0, values);
  EXPECT_EQ(q4[0], std::byte{0x7F});
  EXPECT_EQ(q4[1], std::byte{0x31});
  EXPECT_EQ(q4[2], std::byte{0x80});
  EXPECT_EQ(q4[3], std::byte{0x8C});
  values[0] = 0x1.9708f8p+0F;
  values[1] = 0x1.9a3d7p-8F;  // the largest number below 0.5 after the division, which 0.5 more would round up to 1
  const auto q8 = encoded(WeightType::q8_0, values);
  EXPECT_EQ(q8[0], std::byte{0x69});
  EXPECT_EQ(q8[1], std::byte{0x22});
  EXPECT_EQ(q8[2], std::byte{0x7F});
  EXPECT_EQ(q8[3], std::byte{0});
}

TEST(Convert, AnyRangeIsThatOfTheWholeOnAnyNumberOfThreads) {
  constexpr index kCount = 200'000 / 32 * 32;  // more than three tiles
  const std::vector<float> numbers = testing::numbers(kCount, 3, -2, 2);
  for (const WeightType type :
       {WeightType::f64, WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0, WeightType::q4_0, WeightType::q6_K}) {
    SCOPED_TRACE(name_of(type));
    const auto q6_k = random_blocks({WeightType::q6_K, {208}}, 7, ceil_div(kCount, 256));
    const auto bytes = can_be_written(type) ? encoded(type, numbers) : std::vector<std::byte>();
    const WeightTensor tensor = can_be_written(type) ? tensor_of(type, bytes.data(), kCount) : tensor_of(type, q6_k.data(), kCount);
    const std::vector<float> whole = read_all(tensor);
    for (const int threads : {1, 2, 4}) {
      const WithThreads with(threads, Work{0});
      EXPECT_TRUE(!can_be_written(type) || encoded(type, numbers) == bytes);
      for (const auto& [first, count] :
           {std::pair<index, index>{0, kCount}, {1, 1}, {31, 2}, {33, 31}, {40, 100'000}, {65'535, 2}, {kCount - 5, 5}, {kCount, 0}}) {
        std::vector<float> part(static_cast<std::size_t>(count));
        read_f32(tensor, first, count, part.data());
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first)) << first << " " << count;
      }
    }
  }
}

TEST(Convert, F64RoundsToDenormalNumbersToo) {
  const std::vector<double> numbers{0.1, 1e-40, -1e-45, 1e300};
  const auto found = decoded(WeightType::f64, numbers.data(), 4);
  EXPECT_EQ(found, (std::vector<float>{0.1F, 1e-40F, -1e-45F, std::numeric_limits<float>::infinity()}));
}

TEST(Convert, ValuesThatATypeCannotHoldAreRefused) {
  std::vector<float> values(32, 1.0F);
  values[5] = 70000;
  EXPECT_TRUE(names(input_error_of([&] { encoded(WeightType::f16, values); }), {"70000", "f16", "65504", "bf16", "f32"}));
  values[5] = 1e7F;
  EXPECT_TRUE(names(input_error_of([&] { encoded(WeightType::q8_0, values); }), {"78740.16", "q8_0", "f16", "65504"}));
  values[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(names(input_error_of([&] { encoded(WeightType::q4_0, values); }), {"finite", "q4_0"}));
  values[5] = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(names(input_error_of([&] { encoded(WeightType::q8_0, values); }), {"finite", "q8_0"}));
}

TEST(Convert, ATensorOfAnotherTypeAndElementsThatAreNotThereAreRefused) {
  const float value = 1;
  WeightTensor tensor = tensor_of(WeightType::f32, &value, 1);
  float out[2];
  EXPECT_TRUE(names(testing::error_of([&] { read_f32(tensor, 1, 1, out); }), {"\"t\" (f32 [1])", "1", "2"}));
  EXPECT_TRUE(names(testing::error_of([&] { read_f32(tensor, -1, 1, out); }), {"\"t\" (f32 [1])", "-1", "0"}));
  tensor.type = WeightType::other;
  tensor.type_name = "I64";
  EXPECT_TRUE(names(input_error_of([&] { read_f32(tensor, 0, 1, out); }), {"\"t\" (I64 [1])", "f64, f32, f16, bf16, q8_0, q4_0", "q6_K"}));
}

}  // namespace
}  // namespace dikkat
