#include "optim/adamw.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/optim/store_of.h"

namespace dikkat::adamw_test {
namespace {

using testing::names;

constexpr AdamW::Options kOptions{.beta1 = 0.8, .beta2 = 0.97, .eps = 1e-6, .weight_decay = 0.3};

/// The definition, element by element: Loshchilov and Hutter, arXiv 1711.05101, algorithm 2.
struct Definition {
  std::vector<double> weight, m, v;

  explicit Definition(std::vector<double> first) : weight(std::move(first)), m(weight.size()), v(weight.size()) {}

  void step(index t, double rate, double decay, const std::vector<double>& gradient) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      m[i] = kOptions.beta1 * m[i] + (1 - kOptions.beta1) * gradient[i];
      v[i] = kOptions.beta2 * v[i] + (1 - kOptions.beta2) * gradient[i] * gradient[i];
      const double m_hat = m[i] / (1 - std::pow(kOptions.beta1, static_cast<double>(t)));
      const double v_hat = v[i] / (1 - std::pow(kOptions.beta2, static_cast<double>(t)));
      weight[i] -= rate * decay * weight[i];
      weight[i] -= rate * m_hat / (std::sqrt(v_hat) + kOptions.eps);
    }
  }
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << what << " " << i;
  }
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values) {
    value *= factor;
  }
  return values;
}

/// Makes six steps beside the definition. Rates, gradients' sizes and their scale change from step to step.
template <class T>
void compare_with_definition(double tolerance) {
  ParameterStore store(kDType<T>);
  add_parameters(store);
  store.allocate(3);
  AdamW adamw(store, kOptions);
  std::map<std::string, Definition> expected;
  for (const ParameterStore::Entry* entry : store.entries()) {
    expected.emplace(entry->path, values_of(store.weights<T>(), *entry));
  }
  for (index step = 1; step <= 6; ++step) {
    const double rate = 0.01 * static_cast<double>(step);
    const double scale = step % 2 == 0 ? 1 : 0.25;
    for (ParameterStore::Entry* entry : store.entries()) {
      std::vector<double> gradient =
          some_numbers(entry->size(), hash_of(entry->path) + static_cast<std::uint64_t>(step), static_cast<double>(step));
      if (step == 4 && entry->path == "weight") {  // no gradient reached it: the memory still has that of the step before
        gradient.assign(gradient.size(), 0);
      } else {
        write_gradient<T>(*entry, gradient);
      }
      expected.at(entry->path).step(step, rate, entry->shape().rank() == 2 ? kOptions.weight_decay : 0, scaled(gradient, scale));
    }
    adamw.step(step, rate, scale);
    for (const ParameterStore::Entry* entry : store.entries()) {
      const Definition& definition = expected.at(entry->path);
      const std::string what = entry->path + " at step " + std::to_string(step);
      expect_near(values_of(store.weights<T>(), *entry), definition.weight, tolerance, what);
      expect_near(values_of(adamw.state()[0]->data<T>(), *entry), definition.m, tolerance, what + ", m");
      expect_near(values_of(adamw.state()[1]->data<T>(), *entry), definition.v, 10 * tolerance, what + ", v");
    }
  }
}

TEST(AdamWStep, IsTheDefinitionInF64) { compare_with_definition<double>(1e-14); }
TEST(AdamWStep, IsTheDefinitionInF32) { compare_with_definition<float>(2e-6); }

TEST(AdamWStep, WithoutGradientsOnlyDecaysDecayingParameters) {
  ParameterStore store(DType::f64);
  add_parameters(store);
  store.allocate(3);
  std::map<std::string, std::vector<double>> before;
  for (const ParameterStore::Entry* entry : store.entries()) {
    before[entry->path] = values_of(store.weights<double>(), *entry);
  }
  AdamW adamw(store, kOptions);
  adamw.step(1, 0.1);
  for (const ParameterStore::Entry* entry : store.entries()) {
    const double kept = entry->decay == Decay::yes ? 1 - 0.1 * kOptions.weight_decay : 1;
    expect_near(values_of(store.weights<double>(), *entry), scaled(before[entry->path], kept), 1e-16, entry->path);
  }
}

TEST(AdamWStep, LeavesTheGradientsCleared) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  AdamW adamw(store, kOptions);
  for (ParameterStore::Entry* entry : store.entries()) {
    write_gradient<float>(*entry, some_numbers(entry->size(), 1));
  }
  adamw.step(1, 0.1);
  for (const ParameterStore::Entry* entry : store.entries()) {
    EXPECT_FALSE(entry->gradient.written) << entry->path;
  }
}

/// The number of elements of a slab that belong to no parameter and are not zero.
template <class T>
index stray_elements(const ParameterStore& store, const T* slab) {
  std::vector<char> owned(static_cast<std::size_t>(store.slab_size()));
  for (const ParameterStore::Entry* entry : store.entries()) {
    std::fill_n(owned.begin() + entry->offset, entry->size(), 1);
  }
  index stray = 0;
  for (index i = 0; i < store.slab_size(); ++i) {
    stray += owned[static_cast<std::size_t>(i)] == 0 && slab[i] != T(0) ? 1 : 0;
  }
  return stray;
}

TEST(AdamWStep, LeavesZerosBetweenTheParameters) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  ASSERT_GT(store.slab_size(), store.parameter_count());
  AdamW adamw(store, kOptions);
  for (index step = 1; step <= 3; ++step) {
    for (ParameterStore::Entry* entry : store.entries()) {
      if (step != 2 || entry->path != "table") {
        write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
      }
    }
    adamw.step(step, 0.1);
  }
  EXPECT_EQ(stray_elements(store, store.weights<float>()), 0);
  EXPECT_EQ(stray_elements(store, store.gradients<float>()), 0);
  EXPECT_EQ(stray_elements(store, adamw.state()[0]->data<float>()), 0);
  EXPECT_EQ(stray_elements(store, adamw.state()[1]->data<float>()), 0);
}

TEST(AdamWStep, OfAModelThatNeverDecaysOrAlwaysDoes) {
  for (const Decay decay : {Decay::no, Decay::yes}) {
    ParameterStore store(DType::f64);
    store.add("only", {5}, Init::ones(), decay, Role::vector);
    store.allocate(0);
    AdamW adamw(store, {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.5});
    adamw.step(1, 0.1);
    EXPECT_EQ(store.weights<double>()[4], decay == Decay::yes ? 0.95 : 1.0);
  }
}

TEST(AdamWStep, ShowsNaNInTheGradient) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  AdamW adamw(store, kOptions);
  std::vector<double> gradient(33, 1.0);
  gradient[5] = std::numeric_limits<double>::quiet_NaN();
  ParameterStore::Entry& bias = store.entry("bias");
  write_gradient<float>(bias, gradient);
  EXPECT_TRUE(names(testing::error_of([&] { adamw.step(1, 0.1); }), {"step 1", "bias"}));
  EXPECT_TRUE(std::isnan(values_of(store.weights<float>(), bias)[5]));
  EXPECT_FALSE(std::isnan(values_of(store.weights<float>(), bias)[4]));
}

TEST(AdamWUse, IsRefusedIfItCannotWork) {
  ParameterStore store;
  add_parameters(store);
  EXPECT_TRUE(names(testing::error_of([&] { AdamW(store, kOptions); }), {"optimizer", "lay_out()", "allocate()"}));
  store.allocate(1);
  AdamW adamw(store, kOptions);
  EXPECT_TRUE(names(testing::error_of([&] { adamw.step(0, 0.1); }), {"optimizer", "step 0", "1"}));
  EXPECT_TRUE(names(testing::error_of([&] { adamw.state()[0]->data<double>(); }), {"optimizer", "m ", "f32", "f64"}));
}

TEST(AdamWStep, DoesNotChangeFrozenParameters) {
  ParameterStore store;
  add_parameters(store);
  store.freeze("table");
  store.freeze("gain");
  store.allocate(3);
  AdamW adamw(store, kOptions);
  const auto before = values_of(store.weights<float>(), store.entry("table"));
  for (ParameterStore::Entry* entry : store.trainable()) {
    write_gradient<float>(*entry, some_numbers(entry->size(), 1));
  }
  adamw.step(1, 0.1);
  EXPECT_EQ(values_of(store.weights<float>(), store.entry("table")), before);
  EXPECT_EQ(values_of(store.weights<float>(), store.entry("gain")), std::vector{1.0});
  EXPECT_EQ(adamw.state()[0]->size, 48 + 32) << "of bias and weight only";
  EXPECT_EQ(adamw.cost().bytes, 7 * 4 * (48 + 32));
}

/// Makes six steps and returns the weights.
template <class Optimize>
std::vector<float> weights_after(Optimize&& update) {
  ParameterStore store;
  add_parameters(store);
  store.allocate(3);
  AdamW adamw(store, kOptions);
  adamw.reserve();
  for (index step = 1; step <= 6; ++step) {
    for (ParameterStore::Entry* entry : store.trainable()) {
      write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
    }
    update(adamw, Update{.step = step, .learning_rate = 0.01});
  }
  return {store.weights<float>(), store.weights<float>() + store.slab_size()};
}

TEST(AdamWUnits, MayBeCutAndUpdatedInAnyOrder) {
  const auto whole = weights_after([](AdamW& adamw, const Update& u) { adamw.step(u.step, u.learning_rate); });
  const auto cut = weights_after([](AdamW& adamw, const Update& u) {
    for (const Unit& unit : adamw.units()) {
      const index middle = unit.begin + (unit.end - unit.begin) / Unit::kCut / 3 * Unit::kCut;
      const Unit parts[] = {{.begin = middle, .end = unit.end}, {.begin = unit.begin, .end = middle}};
      EXPECT_TRUE(adamw.update(u, parts));
    }
  });
  EXPECT_EQ(whole, cut);
}

TEST(ParameterGroups, ChooseByPatternAndRoleAndTheLastOneCounts) {
  ParameterStore store;
  add_parameters(store);
  store.lay_out();
  const std::vector<ParameterGroup> groups{{.match = "?a*", .learning_rate = 0.5, .weight_decay = 0.25},  // table, gain
                                           {.role = Role::vector, .learning_rate = 3},                    // bias, gain
                                           {.match = "*e*", .role = Role::vector, .weight_decay = 7}};    // none
  std::map<std::string, std::pair<double, double>> chosen;
  for (const ParameterSettings& s : settings_of(store, 0.1, groups, 2)) {
    chosen[s.parameter->path] = {s.rate_factor, s.weight_decay};
  }
  const std::map<std::string, std::pair<double, double>> expected{
      {"bias", {1.5, 0}}, {"gain", {1.5, 0.25}}, {"table", {0.25, 0.25}}, {"weight", {1, 0.1}}};
  EXPECT_EQ(chosen, expected);
}

TEST(ParameterGroups, FreezeAndThawWithTheLastWord) {
  ParameterStore store;
  add_parameters(store);
  freeze(store, std::vector<ParameterGroup>{{.match = "*", .frozen = true}, {.role = Role::vector, .frozen = false}});
  store.lay_out();
  std::vector<std::string> trained;
  for (const ParameterStore::Entry* entry : store.trainable()) {
    trained.push_back(entry->path);
  }
  EXPECT_EQ(trained, (std::vector<std::string>{"bias", "gain"}));
}

TEST(ParameterGroups, HaveTheirOwnRateAndDecay) {
  ParameterStore store(DType::f64);
  store.add("fast", {1}, Init::ones(), Decay::yes, Role::vector);
  store.add("slow", {1}, Init::ones(), Decay::yes, Role::vector);
  store.allocate(0);
  const std::vector<ParameterGroup> groups{{.match = "fast", .learning_rate = 0.4, .weight_decay = 0.5}};
  AdamW adamw(store, kOptions, settings_of(store, 0.25, groups, 0.1));
  adamw.step(1, 0.05);  // half of the peak
  EXPECT_DOUBLE_EQ(store.weights<double>()[store.entry("fast").offset], 1 - 0.2 * 0.5);
  EXPECT_DOUBLE_EQ(store.weights<double>()[store.entry("slow").offset], 1 - 0.05 * 0.25);
}

}  // namespace
}  // namespace dikkat::adamw_test
