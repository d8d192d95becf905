#include "optim/sgd.h"

#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/optim/store_of.h"
#include "tests/support/throws.h"

namespace dikkat::sgd_test {
namespace {

using testing::error_of;
using testing::names;

/// torch.optim.SGD with dampening 0, line by line: its first buffer is the gradient, as it is here because the buffer begins at 0.
struct Definition {
  std::vector<double> weight, buffer;

  void step(const std::vector<double>& gradient, double rate, double decay, const Sgd::Options& o) {
    for (std::size_t i = 0; i < weight.size(); ++i) {
      double g = gradient[i];
      g = g + decay * weight[i];
      buffer[i] = o.momentum * buffer[i] + g;
      g = o.nesterov ? g + o.momentum * buffer[i] : buffer[i];
      weight[i] = weight[i] - rate * g;
    }
  }
};

template <class T>
void compare_with_definition(double tolerance) {
  for (const Sgd::Options& options :
       {Sgd::Options{.momentum = 0.9, .nesterov = true, .weight_decay = 0.3}, {.momentum = 0.9, .weight_decay = 0.3}, {.momentum = 0}}) {
    ParameterStore store(kDType<T>);
    add_parameters(store);
    store.allocate(3);
    std::map<std::string, Definition> expected;
    for (const ParameterStore::Entry* entry : store.entries()) {
      expected[entry->path] = {values_of(store.weights<T>(), *entry), std::vector<double>(static_cast<std::size_t>(entry->size()))};
    }
    Sgd sgd(store, options);
    for (index step = 1; step <= 6; ++step) {
      const double rate = 0.1 / static_cast<double>(step);
      for (ParameterStore::Entry* entry : store.entries()) {
        const auto gradient = some_numbers(entry->size(), static_cast<std::uint64_t>(step));
        write_gradient<T>(*entry, gradient);
        std::vector<double> scaled = gradient;
        for (double& g : scaled) {
          g *= 0.5;
        }
        expected[entry->path].step(scaled, rate, entry->decay == Decay::yes ? options.weight_decay : 0, options);
      }
      sgd.step(step, rate, 0.5);
    }
    for (const ParameterStore::Entry* entry : store.entries()) {
      const auto found = values_of(store.weights<T>(), *entry);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[entry->path].weight[i], tolerance) << entry->path << ' ' << i;
      }
    }
  }
}

TEST(SgdStep, IsThePyTorchFormulaInF64) { compare_with_definition<double>(1e-13); }
TEST(SgdStep, IsThePyTorchFormulaInF32) { compare_with_definition<float>(1e-5); }

TEST(SgdStep, HasTheSameBitsOnAnyNumberOfThreadsAndInPieces) {
  const auto run = [](int threads, bool in_pieces) {
    const WithThreads with(threads, Work{0});
    ParameterStore store;
    add_parameters(store);
    store.allocate(3);
    Sgd sgd(store, {.nesterov = true});
    sgd.reserve();
    for (index step = 1; step <= 3; ++step) {
      for (ParameterStore::Entry* entry : store.entries()) {
        write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
      }
      if (!in_pieces) {
        sgd.step(step, 0.1);
        continue;
      }
      for (const Unit& unit : sgd.units()) {
        const index middle = std::min(unit.end, unit.begin + Unit::kCut);
        const Unit halves[] = {{.begin = middle, .end = unit.end}, {.begin = unit.begin, .end = middle}};
        sgd.update({.step = step, .learning_rate = 0.1}, halves);
      }
    }
    return std::vector<float>(store.weights<float>(), store.weights<float>() + store.slab_size());
  };
  const auto one = run(1, false);
  EXPECT_EQ(one, run(3, false));
  EXPECT_EQ(one, run(2, true));
}

TEST(SgdStep, RefusesNumbersThatAreNotFinite) {
  for (const bool in_state : {false, true}) {
    ParameterStore store;
    add_parameters(store);
    store.allocate(3);
    Sgd sgd(store, {});
    sgd.reserve();
    for (ParameterStore::Entry* entry : store.entries()) {
      write_gradient<float>(*entry, some_numbers(entry->size(), 1));
    }
    (in_state ? sgd.state()[0]->data<float>() : store.weights<float>())[3] = std::numeric_limits<float>::infinity();
    const std::string path = in_state ? sgd.state()[0]->parts.front().parameter->path : store.entries().front()->path;
    EXPECT_TRUE(names(error_of([&] { sgd.step(7, 0.1); }), {"step 7", path})) << in_state;
  }
}

// y = 3 x + 2 at x = -1, 0, 1, 2.
TEST(SgdStep, ReachesTheLeastSquaresByDefault) {
  ParameterStore store(DType::f64);
  ParameterStore::Entry& slope = (store.add("slope", {1, 1}, Init::zeros(), Decay::yes, Role::hidden), store.entry("slope"));
  ParameterStore::Entry& offset = (store.add("offset", {1}, Init::zeros(), Decay::no, Role::vector), store.entry("offset"));
  store.allocate(1);
  Sgd sgd(store, {});
  for (index step = 1; step <= 500; ++step) {
    double by_slope = 0, by_offset = 0;
    for (const double x : {-1.0, 0.0, 1.0, 2.0}) {
      const double error = *static_cast<double*>(slope.values) * x + *static_cast<double*>(offset.values) - (3 * x + 2);
      by_slope += error * x / 4;
      by_offset += error / 4;
    }
    write_gradient<double>(slope, std::vector<double>{by_slope});
    write_gradient<double>(offset, std::vector<double>{by_offset});
    sgd.step(step, 0.05);
  }
  EXPECT_NEAR(*static_cast<double*>(slope.values), 3, 1e-6);
  EXPECT_NEAR(*static_cast<double*>(offset.values), 2, 1e-6);
}

}  // namespace
}  // namespace dikkat::sgd_test
