#include "autograd/tape/parameters.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "autograd/tape/tape.h"
#include "tests/support/throws.h"
#include "tests/tape/own_ops.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::times;
using testing::total;

const double kNan = std::numeric_limits<double>::quiet_NaN();

/// Two parameters of two elements, their gradients NaN.
struct Store {
  ParameterStore store{DType::f64};
  Parameter a = store.add("a", {2}, Init::ones(), Decay::no, Role::vector);
  Parameter b = store.add("b", {2}, Init::ones(), Decay::yes, Role::hidden);
  explicit Store(const char* frozen = nullptr) {
    if (frozen != nullptr) {
      store.freeze(frozen);
    }
    store.allocate(1);
    for (auto* entry : store.trainable()) {
      std::fill_n(static_cast<double*>(entry->gradient.data), entry->size(), kNan);
    }
  }
  std::vector<double> gradient(const char* path) const {
    const auto* data = static_cast<const double*>(store.entry(path).gradient.data);
    return {data, data + 2};
  }
  void backward(Parameter parameter, double factor) const {
    Tape tape;
    tape.backward(total(times(tape.use(parameter), factor)));
  }
};

TEST(Parameters, MicroBatchesAddUpUntilCleared) {
  Store s;
  s.backward(s.a, 2);
  EXPECT_EQ(s.gradient("a"), (std::vector<double>{2, 2})) << "overwrites NaN";
  s.backward(s.a, 3);
  EXPECT_EQ(s.gradient("a"), (std::vector<double>{5, 5})) << "adds";
  EXPECT_TRUE(std::isnan(s.gradient("b")[0])) << "nothing is zeroed before it is needed";
  EXPECT_FALSE(s.store.entry("b").gradient.written);
  s.store.complete_gradients();
  EXPECT_EQ(s.gradient("a"), (std::vector<double>{5, 5}));
  EXPECT_EQ(s.gradient("b"), (std::vector<double>{0, 0})) << "unwritten ones count as zero";
  s.store.clear_gradients();
  s.backward(s.b, 7);
  s.backward(s.a, 11);
  EXPECT_EQ(s.gradient("a"), (std::vector<double>{11, 11}));
  EXPECT_EQ(s.gradient("b"), (std::vector<double>{7, 7}));
}

TEST(Parameters, PassAddsToAParameter) {
  Store s;
  for (int i = 1; i <= 2; ++i) {
    Tape tape;
    tape.backward(total(testing::plus(tape.use(s.a), s.b)));
    tape.reset();
    EXPECT_EQ(s.gradient("a"), std::vector<double>(2, i));
    EXPECT_EQ(s.gradient("b"), std::vector<double>(2, i));
  }
}

TEST(Parameters, FrozenOnesAreNotChanged) {
  Store s("b");
  Tape tape;
  tape.backward(total(testing::plus(tape.use(s.a), s.b)));
  EXPECT_EQ(s.gradient("a"), (std::vector<double>{1, 1}));
  EXPECT_EQ(s.store.entry("b").gradient.data, nullptr);
  EXPECT_FALSE(s.store.entry("b").gradient.written);
  EXPECT_TRUE(names(error_of([&] { s.backward(s.b, 1); }), {"backward", "depends", "gradient"}));
}

TEST(Parameters, WithoutRecordingNothingIsWritten) {
  Store s;
  Tape tape(Recording::off);
  const Tensor y = total(times(tape.use(s.a), 2));
  EXPECT_FALSE(y.needs_gradient());
  EXPECT_EQ(*y.data<double>(), 4);
}

TEST(ParameterStore, SortsByDecayAndPathIntoOneSlab) {
  ParameterStore store;
  store.add("z.weight", {3, 5}, Init::normal(0.02), Decay::yes, Role::hidden);
  store.add("b.bias", {5}, Init::zeros(), Decay::no, Role::vector);
  store.add("a.weight", {2, 16}, Init::normal(0.02), Decay::yes, Role::hidden);
  store.add("a.bias", {33}, Init::ones(), Decay::no, Role::vector);
  store.allocate(7);
  std::vector<std::string> paths;
  for (const auto* entry : store.entries()) {
    paths.push_back(entry->path);
    EXPECT_EQ(entry->offset % 16, 0) << "64 bytes";
    EXPECT_EQ(entry->record.data, store.weights<float>() + entry->offset);
    EXPECT_EQ(entry->gradient.data, store.gradients<float>() + entry->offset);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"a.bias", "b.bias", "a.weight", "z.weight"}));
  EXPECT_EQ(store.parameter_count(), 15 + 5 + 32 + 33);
  EXPECT_EQ(store.slab_size(), 48 + 16 + 32 + 16);
  EXPECT_EQ(store.weights<float>()[0], 1);
  EXPECT_EQ(store.weights<float>()[33], 0) << "between parameters";
}

TEST(ParameterStore, FrozenOnesComeLastAndHaveNoMemoryForGradients) {
  ParameterStore store;
  for (const char* path : {"a", "b", "c", "d"}) {
    store.add(path, {20}, Init::normal(1), path[0] < 'c' ? Decay::yes : Decay::no, Role::vector);
  }
  store.freeze("d");
  store.freeze("a");
  store.allocate(7);
  std::vector<std::string> paths;
  for (const auto* entry : store.entries()) {
    paths.push_back(entry->path);
    EXPECT_EQ(entry->record.data, store.weights<float>() + entry->offset);
    EXPECT_EQ(entry->gradient.data, entry->frozen ? nullptr : store.gradients<float>() + entry->offset);
    EXPECT_EQ(entry->record.needs_gradient, !entry->frozen);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"c", "b", "a", "d"}));
  EXPECT_EQ(store.trainable().size(), 2U);
  EXPECT_EQ(store.trainable_size(), 2 * 32);
  EXPECT_EQ(store.slab_size(), 4 * 32);
  EXPECT_TRUE(names(error_of([&] { store.freeze("b"); }), {"parameters", "'b'", "freeze()", "lay_out()"}));
  EXPECT_TRUE(names(error_of([&] { ParameterStore().freeze("x"); }), {"parameters", "none", "'x'"}));
}

TEST(ParameterStore, FirstValuesFollowFromSeedAndPathOnly) {
  const auto values = [](std::uint64_t seed, bool other_first, int threads) {
    const WithThreads with(threads, Work{0});
    ParameterStore store;
    if (other_first) {
      store.add("another", {100}, Init::normal(1), Decay::yes, Role::hidden);
    }
    store.add("w", {100, 100}, Init::normal(0.5), Decay::yes, Role::hidden);
    store.allocate(seed);
    const Tensor w = store.entry("w").tensor();
    return std::vector<float>(w.data<float>(), w.data<float>() + w.size());
  };
  const auto expected = values(1, false, 1);
  EXPECT_EQ(values(1, true, 2), expected);
  EXPECT_NE(values(2, false, 1), expected);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (const float value : expected) {
    const double z = static_cast<double>(value) / 0.5;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / 1e4, 0, 0.04);
  EXPECT_NEAR(squares / 1e4, 1, 0.06);
  EXPECT_NEAR(fourth / 1e4, 3, 0.4) << "of a normal distribution";
}

TEST(ParameterStore, RefusesImpossibleParameters) {
  ParameterStore store;
  EXPECT_TRUE(names(error_of([&] { store.weights<float>(); }), {"parameters", "no memory", "allocate()"}));
  store.add("w", {2}, Init::zeros(), Decay::no, Role::vector);
  EXPECT_TRUE(names(error_of([&] { store.add("w", {3}, Init::zeros(), Decay::no, Role::vector); }), {"parameters", "'w'", "exists"}));
  const std::vector<std::string> unlike = {"parameters", "row parts", "'q' [4, 2]"};
  EXPECT_TRUE(names(error_of([&] { store.add("q", {4, 2}, Init::zeros(), Decay::no, Role::hidden, {2, 1}); }), unlike));
  EXPECT_TRUE(names(error_of([&] { store.add("q", {4, 2}, Init::zeros(), Decay::no, Role::hidden, {4, 0}); }), unlike));
  store.allocate(1);
  EXPECT_TRUE(names(error_of([&] { store.add("v", {3}, Init::zeros(), Decay::no, Role::vector); }), {"parameters", "'v'", "allocate()"}));
  EXPECT_TRUE(names(error_of([&] { store.allocate(1); }), {"parameters", "allocate()", "second time"}));
  EXPECT_TRUE(names(error_of([&] { (void)store.entry("v"); }), {"parameters", "none", "'v'"}));
  EXPECT_TRUE(names(error_of([&] { store.weights<double>(); }), {"parameters", "f32", "f64"}));
}

TEST(ParameterStore, PackedMatricesAreInOneSlab) {
  ParameterStore store;
  store.add("a", {20, 5}, Init::zeros(), Decay::yes, Role::hidden);
  store.add("b", {3, 40}, Init::zeros(), Decay::yes, Role::hidden);
  store.add("v", {7}, Init::zeros(), Decay::no, Role::vector);
  store.allocate(1);
  auto& a = store.entry("a");
  auto& b = store.entry("b");
  std::byte* const second = store.packed_place(b, PackedType::q8);  // in any order
  EXPECT_EQ(second - store.packed_place(a, PackedType::q8), round_up(packed_bytes(PackedType::q8, 20, 5), 64));
  store.keep_packed(b, PackedType::q8);
  EXPECT_EQ(b.tensor().packed().data, second);
  EXPECT_TRUE(
      names(error_of([&] { store.packed_place(a, PackedType::bf16); }), {"parameters", "'a'", "[20, 5]", "f32", "bf16", "matrix", "q8"}));
  EXPECT_TRUE(
      names(error_of([&] { store.packed_place(store.entry("v"), PackedType::q8); }), {"parameters", "'v'", "[7]", "f32", "q8", "matrix"}));
}

TEST(ParameterStore, AFrozenMatrixIsPackedFromTheBeginning) {
  ParameterStore store;
  store.add("a", {20, 64}, Init::normal(1), Decay::yes, Role::hidden);
  store.add("b", {3, 40}, Init::normal(1), Decay::yes, Role::adapter);
  store.add("v", {7}, Init::ones(), Decay::no, Role::vector);
  EXPECT_TRUE(names(error_of([&] { store.freeze("v", PackedType::q8); }), {"parameters", "'v'", "[7]", "f32", "q8", "matrix"}));
  store.freeze("a", PackedType::q8);
  store.freeze("v");
  store.reserve();
  EXPECT_EQ(store.weight_bytes(), static_cast<std::size_t>(packed_bytes(PackedType::q8, 20, 64)) + 4 * (128 + 16));
  auto& a = store.entry("a");
  EXPECT_TRUE(a.tensor().is_packed());
  EXPECT_TRUE(a.tensor().packed().keeps_f32);
  store.initialize_trained(1);
  EXPECT_NE(store.weights<float>()[store.entry("b").offset], 0) << "trained weights are still in the slab";
  EXPECT_EQ(store.weights<float>()[store.entry("v").offset], 0) << "weights that are not trained are loaded";
  std::vector<std::string> loaded;
  store.initialize(1, [&](ParameterStore::Entry& entry) {
    loaded.push_back(entry.path);
    EXPECT_NE(static_cast<const float*>(entry.values)[0], 0);
  });
  EXPECT_EQ(loaded, (std::vector<std::string>{"b", "a", "v"}));
}

TEST(ParameterStore, MayBeEmpty) {
  ParameterStore store;
  store.allocate(1);
  store.complete_gradients();
  EXPECT_EQ(store.parameter_count(), 0);
  EXPECT_EQ(store.slab_size(), 0);
}

}  // namespace
}  // namespace dikkat
