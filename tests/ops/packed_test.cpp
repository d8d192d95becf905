#include "autograd/kernels/gemm/packed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/bf16.h"
#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/pack.h"
#include "autograd/tape/tape.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"

// Gradients that flow through a frozen packed weight are those that flow through its numbers as f32, to the bit.
namespace dikkat::packed_test {
namespace {

using testing::numbers;
using testing::same_bits;

/// Encodes rows in the forms that pack_rows() takes. Blocks have the scale 1/64 or, for q4, 1/4.
void encode(PackedType packing, const float* values, index count, std::byte* out) {
  if (packing == PackedType::bf16) {
    for (index i = 0; i < count; ++i) {
      const bf16 number = to_bf16(values[i]);
      std::memcpy(out + 2 * i, &number, sizeof number);
    }
    return;
  }
  const bool is_q8 = packing == PackedType::q8;
  const std::uint16_t scale = is_q8 ? 0x2400 : 0x3400;
  const auto whole = [&](index i, float factor, float most) {
    return static_cast<int>(std::clamp(std::round(values[i] * factor), -most, most));
  };
  for (index first = 0; first < count; first += kScaleBlock) {
    std::memcpy(out, &scale, sizeof scale);
    out += 2;
    for (index i = first; i < first + (is_q8 ? 32 : 16); ++i) {
      *out++ =
          is_q8 ? static_cast<std::byte>(whole(i, 64, 127)) : static_cast<std::byte>((whole(i, 4, 7) + 8) | (whole(i + 16, 4, 7) + 8) << 4);
    }
  }
}

constexpr index kRows = 40, kIn = 72, kOut = 1100;  // enough classes for the fused head

/// A frozen weight (kOut, kIn), packed or as its numbers.
struct Frozen {
  ParameterStore store;
  Tensor weight;

  Frozen(PackedType packing, bool is_packed) {
    ParameterStore packed;
    for (ParameterStore* each : {&store, &packed}) {
      each->add("w", {kOut, kIn}, Init::normal(0.5), Decay::yes, Role::hidden);
    }
    store.freeze("w", is_packed ? packing : PackedType::f32);
    packed.freeze("w", packing);
    store.reserve();
    packed.reserve();
    ParameterStore& filled = is_packed ? store : packed;
    filled.initialize(7, [&](ParameterStore::Entry& entry) { pack(filled, entry, packing, encode); });
    for (index row = 0; row < kOut && !is_packed; ++row) {
      kernels::unpack_row(packed.entry("w").tensor().packed(), row, static_cast<float*>(store.entry("w").values) + row * kIn);
    }
    weight = store.entry("w").tensor();
  }
};

using Op = std::function<Tensor(Tape& tape, Tensor x, Tensor weight)>;

/// The result and the gradient of x, whose type is f32 or bf16.
std::vector<float> outcome(const Op& op, const Frozen& frozen, DType type, index cols) {
  Tape tape;
  const Tensor given = tape.input<float>({kRows, cols}, numbers(kRows * cols, 1), true);
  const Tensor y = cast(op(tape, cast(given, type), frozen.weight), DType::f32);
  tape.backward(y, tape.input<float>(y.shape(), numbers(y.size(), 2)));
  std::vector<float> all(y.data<float>(), y.data<float>() + y.size());
  const float* dx = tape.gradient<float>(given);
  EXPECT_NE(dx, nullptr);
  all.insert(all.end(), dx, dx + given.size());
  return all;
}

struct Named {
  const char* name;
  index cols;
  Op op;
};

std::vector<Named> ops() {
  return {{"linear", kIn, [](Tape&, Tensor x, Tensor w) { return linear(x, w); }},
          {"adapted_linear", kIn,
           [](Tape& tape, Tensor x, Tensor w) {
             const LowRankProduct low{.a = tape.input<float>({3, kIn}, numbers(3 * kIn, 3), true),
                                      .b = tape.input<float>({kOut, 3}, numbers(kOut * 3, 4), true)};
             return adapted_linear(x, w, low);
           }},
          {"activated_linear", kIn, [](Tape&, Tensor x, Tensor w) { return activated_linear({Activation::gelu}, x, w); }},
          {"activated_linear, gated", 2 * kIn, [](Tape&, Tensor x, Tensor w) { return activated_linear({Activation::silu, true}, x, w); }},
          {"linear_cross_entropy", kIn, [](Tape& tape, Tensor x, Tensor w) {
             std::vector<std::int32_t> targets;
             for (std::int32_t i = 0; i < kRows; ++i) {
               targets.push_back(i * 27 % kOut);
             }
             return linear_cross_entropy(x, w, tape.input<std::int32_t>({kRows}, targets), {.softcap = 20});
           }}};
}

TEST(PackedWeight, GradientsFlowThroughItsNumbers) {
  for (const PackedType packing : {PackedType::bf16, PackedType::q8, PackedType::q4}) {
    const Frozen packed(packing, true), plain(packing, false);
    ASSERT_TRUE(packed.weight.is_packed());
    for (const DType type : {DType::f32, DType::bf16}) {
      for (const Named& of : ops()) {
        SCOPED_TRACE(concat(of.name, ", ", name_of(packing), ", ", type));
        EXPECT_TRUE(same_bits(outcome(of.op, packed, type, of.cols), outcome(of.op, plain, type, of.cols)));
      }
    }
  }
}

TEST(PackedWeight, GradientsHaveTheSameBitsOnAnyNumberOfThreads) {
  const Frozen packed(PackedType::q8, true);
  for (const Named& of : ops()) {
    const auto on = [&](int threads) {
      const WithThreads with(threads, Work{0});
      return outcome(of.op, packed, DType::f32, of.cols);
    };
    EXPECT_TRUE(same_bits(on(1), on(3))) << of.name;
  }
}

TEST(PackedWeight, OfATiedModelIsItsTableToo) {
  const Frozen packed(PackedType::q8, true), plain(PackedType::q8, false);
  const auto loss = [](const Frozen& frozen) {
    Tape tape;
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < kRows; ++i) {
      ids.push_back(i * 31 % kOut);
    }
    const Tensor scales = tape.input<float>({1, kRows, kIn}, numbers(kRows * kIn, 3), true);
    const Tensor x = multiply(embedding(tape.input<std::int32_t>({1, kRows}, ids), frozen.weight), scales);
    const Tensor y = linear_cross_entropy(x, frozen.weight, tape.input<std::int32_t>({kRows}, ids));
    tape.backward(y);
    std::vector<float> all(tape.gradient<float>(scales), tape.gradient<float>(scales) + scales.size());
    all.push_back(*y.data<float>());
    return all;
  };
  EXPECT_TRUE(same_bits(loss(packed), loss(plain)));
}

}  // namespace
}  // namespace dikkat::packed_test
