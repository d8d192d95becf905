#include "layers/recurrent.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::converted;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::relative_error;
using testing::same_bits;

template <class T>
std::vector<T> copy_of(const T* data, index n) {
  return {data, data + n};
}

template <class Layer>
struct Built {
  ParameterStore store;
  Layer layer;
  Built(index in, index hidden, DType dtype = DType::f32, bool bias = true) : store(dtype), layer(Scope(store), in, hidden, bias) {
    store.allocate(1);
  }
};

template <class Layer>
class RecurrentLayer : public ::testing::Test {};
struct LayerName {
  template <class Layer>
  static std::string GetName(int) {
    return std::is_same_v<Layer, Gru> ? "gru" : std::is_same_v<Layer, Lstm> ? "lstm" : "rnn";
  }
};
using Layers = ::testing::Types<Recurrent, Gru, Lstm>;

/// Calls a layer from a first state; c of an LSTM begins with the same numbers as h.
template <class Layer>
Tensor call(const Layer& layer, Pass& pass, Tensor x, Tensor h0) {
  if constexpr (std::is_same_v<Layer, Lstm>) {
    return layer(pass, x, {.h = h0, .c = h0});
  } else {
    return layer(pass, x, h0);
  }
}

TYPED_TEST_SUITE(RecurrentLayer, Layers, LayerName);

TYPED_TEST(RecurrentLayer, BeginsWithPyTorchsVariance) {
  Built<TypeParam> built(70, 50);
  double squares = 0;
  for (const ParameterStore::Entry* entry : built.store.entries()) {
    const auto* values = static_cast<const float*>(entry->record.data);
    for (index i = 0; i < entry->size(); ++i) {
      squares += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
  }
  const auto count = static_cast<double>(built.store.parameter_count());
  const double gates = std::is_same_v<TypeParam, Gru> ? 3 : std::is_same_v<TypeParam, Lstm> ? 4 : 1;
  EXPECT_EQ(count, gates * 50 * (70 + 50 + 2));
  EXPECT_NEAR(squares / count * 3 * 50, 1, 5 * std::sqrt(2 / count));  // the variance of a mean of n squares is 2 / n
}

TYPED_TEST(RecurrentLayer, ContinuesFromAState) {
  constexpr index kBatch = 2, kIn = 5, kHidden = 7, kTime = 9;
  const Built<TypeParam> built(kIn, kHidden, DType::f64);
  const auto values = converted<double>(numbers(kBatch * kTime * kIn, 1));
  for (const index cut : {1, 4, 8}) {
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const Tensor x = tape.input<double>({kBatch, kTime, kIn}, values);
    const Tensor whole = built.layer(pass, x);
    const Tensor first = slice(x, 1, 0, cut), rest = slice(x, 1, cut, kTime - cut);
    Tensor head, tail;
    if constexpr (std::is_same_v<TypeParam, Lstm>) {
      const Lstm::Output output = built.layer.run(pass, first);
      EXPECT_EQ(output.last.c.shape(), (Shape{kBatch, kHidden}));
      head = output.states;
      tail = built.layer(pass, rest, output.last);
    } else {
      head = built.layer(pass, first);
      tail = built.layer(pass, rest, reshape(slice(head, 1, cut - 1, 1), {kBatch, kHidden}));
    }
    const Tensor joined = concat(std::vector{head, tail}, 1);
    EXPECT_LE(relative_error(copy_of(joined.data<double>(), joined.size()), copy_of(whole.data<double>(), whole.size())), 1e-15) << cut;
  }
}

/// States and all gradients of <dy, states>, one after another.
template <class Layer>
std::vector<float> outcome_of(int threads) {
  constexpr index kBatch = 3, kIn = 40, kHidden = 70, kTime = 50;
  const WithThreads with(threads, Work{0});
  Built<Layer> built(kIn, kHidden);
  Tape tape;
  Pass pass{.tape = tape};
  const Tensor x = tape.input<float>({kBatch, kTime, kIn}, numbers(kBatch * kTime * kIn, 1), true);
  const Tensor h0 = tape.input<float>({kBatch, kHidden}, numbers(kBatch * kHidden, 2), true);
  const Tensor y = call(built.layer, pass, x, h0);
  tape.backward(y, tape.input<float>(y.shape(), numbers(y.size(), 3)));
  auto all = copy_of(y.data<float>(), y.size());
  const auto append = [&](const float* data, index n) { all.insert(all.end(), data, data + n); };
  append(tape.gradient<float>(x), x.size());
  append(tape.gradient<float>(h0), h0.size());
  for (const ParameterStore::Entry* entry : built.store.entries()) {
    append(static_cast<const float*>(entry->gradient.data), entry->size());
  }
  return all;
}

TYPED_TEST(RecurrentLayer, GivesTheSameBitsOnAnyNumberOfThreads) {
  const auto one = outcome_of<TypeParam>(1);
  for (const int threads : {2, 4}) {
    EXPECT_TRUE(same_bits(outcome_of<TypeParam>(threads), one)) << threads;
  }
}

// There are more steps than a list of fixed size would hold. The tape asks for no memory once it has seen the longest.
TYPED_TEST(RecurrentLayer, WalksALongSequence) {
  constexpr index kTime = 1000;
  Built<TypeParam> built(1, 4);
  Tape tape;
  const auto x = numbers(kTime, 1);
  const auto step = [&] {
    Pass pass{.tape = tape};
    const Tensor y = built.layer(pass, tape.input<float>({1, kTime, 1}, x));
    tape.backward(sum(y));
    const auto states = copy_of(y.data<float>(), y.size());
    tape.reset();
    built.store.clear_gradients();
    return states;
  };
  const auto first = step();
  step();
  tape.freeze();
  const std::int64_t before = Pages::requests();
  EXPECT_TRUE(same_bits(step(), first));
  EXPECT_EQ(Pages::requests(), before);
  EXPECT_NE(first[first.size() - 1], first[first.size() - 5]) << "the last two steps' states";
}

TYPED_TEST(RecurrentLayer, RefusesShapesThatDoNotFit) {
  const Built<TypeParam> built(5, 7);
  Tape tape;
  Pass pass{.tape = tape};
  const auto input = [&](Shape shape) { return tape.input<float>(shape, numbers(shape.size(), 1)); };
  EXPECT_TRUE(names(error_of([&] { built.layer(pass, input({2, 3, 4})); }), {"recurrent", "[2, 3, 4]", "(B, T, 5)"}));
  EXPECT_NE(error_of([&] { built.layer(pass, input({2, 0, 5})); }), "");
  EXPECT_NE(error_of([&] { built.layer(pass, input({3, 5})); }), "");
  EXPECT_TRUE(names(error_of([&] { call(built.layer, pass, input({2, 3, 5}), input({1, 7})); }), {"h0", "[1, 7]", "[2, 7]"}));
  ParameterStore store;
  EXPECT_TRUE(names(error_of([&] { TypeParam(Scope(store) / "cell", 0, 7); }), {"cell", "0", "7 hidden", "1"}));
}

}  // namespace
}  // namespace dikkat
