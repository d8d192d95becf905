#include "optim/muon.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/gemm/gemm_tiles.h"
#include "autograd/kernels/optimizer/muon.h"
#include "tests/optim/store_of.h"

/// LLVM's OpenMP 14 loses some of its own records when the number of threads changes again and again: not our leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp"; }

namespace dikkat::muon_test {
namespace {

/// Adds matrices with more and fewer rows than columns, larger and smaller than the blocks into which products are cut.
void add_matrices(ParameterStore& store) {
  store.add("qkv", {3 * 40, 40}, Init::normal(0.5), Decay::yes, Role::hidden, {40, 40, 40});
  store.add("up", {200, 50}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.add("down", {50, 200}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.add("large", {391, 397}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.add("wte", {70, 50}, Init::normal(0.5), Decay::yes, Role::embedding);
  store.add("bias", {50}, Init::normal(0.5), Decay::no, Role::vector);
}

/// Makes some steps and returns weights and momentum.
template <class Optimize>
std::vector<float> result_of(index steps, Optimize&& update) {
  ParameterStore store;
  add_matrices(store);
  store.allocate(3);
  Muon muon(store, {});
  muon.reserve();
  for (index step = 1; step <= steps; ++step) {
    for (ParameterStore::Entry* entry : store.trainable()) {
      write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
    }
    update(muon, Update{.step = step, .learning_rate = 0.01});
  }
  std::vector<float> result(store.weights<float>(), store.weights<float>() + store.slab_size());
  for (const StateSlab* slab : muon.state()) {
    result.insert(result.end(), slab->data<float>(), slab->data<float>() + slab->size);
  }
  return result;
}

void step(Muon& muon, const Update& u) { muon.step(u.step, u.learning_rate); }

TEST(MuonStep, HasTheSameBitsOnAnyNumberOfThreads) {
  const auto on = [](int threads) {
    const WithThreads with(threads, Work{0});
    return result_of(3, step);
  };
  const auto one = on(1);
  EXPECT_EQ(one, on(2)) << "a matrix for each thread";
  EXPECT_EQ(one, on(5)) << "all threads for each matrix";
}

TEST(MuonStep, UpdatesUnitsInAnyOrder) {
  EXPECT_EQ(result_of(2, step), result_of(2, [](Muon& muon, const Update& u) {
              std::vector<Unit> units = muon.units();
              std::reverse(units.begin(), units.end());
              for (const Unit& unit : units) {
                EXPECT_TRUE(muon.update(u, {&unit, 1}));
              }
            }));
}

// c_attn of grouped queries, q | k | v, and c_fc of a gate, gate | up: each part is updated like a separate matrix.
TEST(MuonStep, OfPartsIsThatOfSeparateMatrices) {
  struct Part {
    const char* name;
    index rows;
  };
  const std::vector<Part> qkv = {{"attn.q", 60}, {"attn.k", 20}, {"attn.v", 20}};
  const std::vector<Part> fc = {{"mlp.gate", 70}, {"mlp.up", 70}};
  constexpr index kCols = 30;
  ParameterStore together, apart;
  together.add("attn", {100, kCols}, Init::normal(0.5), Decay::yes, Role::hidden, {60, 20, 20});
  together.add("mlp", {140, kCols}, Init::normal(0.5), Decay::yes, Role::hidden, {70, 70});
  for (const auto& parts : {qkv, fc}) {
    for (const Part& part : parts) {
      apart.add(part.name, {part.rows, kCols}, Init::normal(0.5), Decay::yes, Role::hidden);
    }
  }
  together.allocate(3);
  apart.allocate(3);
  // Both stores begin with the same weights.
  const auto for_each_part = [&](auto&& f) {  // f(entry together, its first element, entry apart)
    for (const auto& [name, parts] : {std::pair("attn", qkv), {"mlp", fc}}) {
      index at = 0;
      for (const Part& part : parts) {
        f(together.entry(name), at, apart.entry(part.name));
        at += part.rows * kCols;
      }
    }
  };
  for_each_part([&](const ParameterStore::Entry& whole, index at, const ParameterStore::Entry& part) {
    std::copy_n(together.weights<float>() + whole.offset + at, part.size(), apart.weights<float>() + part.offset);
  });
  // Both take three steps with the same gradients.
  Muon of_parts(together, {}), of_matrices(apart, {});
  for (index step = 1; step <= 3; ++step) {
    for (ParameterStore::Entry* entry : together.trainable()) {
      write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
    }
    for_each_part([&](ParameterStore::Entry& whole, index at, ParameterStore::Entry& part) {
      const auto* from = static_cast<const float*>(whole.gradient.data) + at;
      write_gradient<float>(part, std::vector<double>(from, from + part.size()));
    });
    of_parts.step(step, 0.01);
    of_matrices.step(step, 0.01);
  }
  for_each_part([&](const ParameterStore::Entry& whole, index at, const ParameterStore::Entry& part) {
    EXPECT_TRUE(std::equal(together.weights<float>() + whole.offset + at, together.weights<float>() + whole.offset + at + part.size(),
                           apart.weights<float>() + part.offset))
        << part.path;
  });
}

TEST(MuonUnits, AreTheMatricesAndTheRestForAdamW) {
  ParameterStore store;
  add_matrices(store);
  store.freeze("large");
  store.allocate(3);
  Muon muon(store, {});
  index whole = 0;
  index elements = 0;
  double flops = 0;
  for (const Unit& unit : muon.units()) {
    whole += unit.whole ? 1 : 0;
    elements += unit.end - unit.begin;
    flops += unit.flops;
  }
  EXPECT_EQ(whole, 5) << "q, k, v, up, down";
  EXPECT_EQ(elements, store.trainable_size());
  EXPECT_EQ(muon.cost().flops, flops);
  const double square = 5 * 4 * 40 * 40 * 40;                                // five times A, A^2 and twice as much for the product with X
  const double longer = 2 * 3 * 50 * 50 * 200 + (5 + 3 * 3) * 50 * 50 * 50;  // twice A and the product with X
  EXPECT_EQ(flops, 3 * square + 2 * longer);
  std::vector<std::pair<std::string, std::size_t>> slabs;
  for (const StateSlab* slab : muon.state()) {
    slabs.emplace_back(slab->name, slab->parts.size());
  }
  EXPECT_EQ(slabs, (std::vector<std::pair<std::string, std::size_t>>{{"momentum", 3}, {"m", 2}, {"v", 2}}));
}

TEST(MuonStep, MakesUpdatesThatAreNearlyOrthogonal) {
  ParameterStore store(DType::f64);
  store.add("w", {30, 60}, Init::zeros(), Decay::yes, Role::hidden);
  store.allocate(0);
  Muon muon(store, {});
  write_gradient<double>(store.entry("w"), some_numbers(30 * 60, 1));
  muon.step(1, 1);
  const double scale = 0.2 * std::sqrt(60.0);
  const double* w = store.weights<double>();
  double squares = 0;
  for (index i = 0; i < 30 * 60; ++i) {
    squares += w[i] * w[i] / (scale * scale);
  }
  EXPECT_NEAR(squares / 30, 0.85, 0.25) << "the mean square of 30 singular values, which end between 0.7 and 1.2";
}

using Numbers = std::vector<double>;

/// A B, or A B^T.
Numbers product(const Numbers& a, const Numbers& b, index m, index n, index k, bool transpose_b) {
  Numbers c(static_cast<std::size_t>(m * n));
  for (index i = 0; i < m; ++i) {
    for (index j = 0; j < n; ++j) {
      for (index l = 0; l < k; ++l) {
        c[static_cast<std::size_t>(i * n + j)] +=
            a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(transpose_b ? j * k + l : l * n + j)];
      }
    }
  }
  return c;
}

/// The definition, in f64: X (rows, cols) with at most as many rows as columns.
Numbers five_iterations(Numbers x, index rows, index cols) {
  double squares = 0;
  for (const double value : x) {
    squares += value * value;
  }
  for (double& value : x) {
    value /= std::sqrt(squares) + 1e-7;
  }
  for (int i = 0; i < 5; ++i) {
    const Numbers a = product(x, x, rows, rows, cols, true);
    Numbers p = product(a, a, rows, rows, rows, false);
    for (std::size_t j = 0; j < p.size(); ++j) {
      p[j] = -4.7750 * a[j] + 2.0315 * p[j];
    }
    const Numbers px = product(p, x, rows, cols, rows, false);
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] = 3.4445 * x[j] + px[j];
    }
  }
  return x;
}

// Singular values go down to 1e-4 of the largest: a method with fewer operations would lose these first.
TEST(MuonStep, IsTheDefinitionToTheDigitsOfF32) {
  struct Case {
    index rows, cols;
  };
  for (const Case c : {Case{40, 40}, Case{40, 79}, Case{40, 80}, Case{40, 200}, Case{200, 40}}) {
    const bool tall = c.rows > c.cols;
    const index n = std::min(c.rows, c.cols), m = std::max(c.rows, c.cols);
    // Make a matrix with singular values down to 1e-4 of the largest.
    const Numbers left = some_numbers(n * n, 1), right = some_numbers(n * m, 2);
    Numbers scaled = right;
    for (index i = 0; i < n; ++i) {
      for (index j = 0; j < m; ++j) {
        scaled[static_cast<std::size_t>(i * m + j)] *= std::pow(10, -4.0 * static_cast<double>(i) / static_cast<double>(n));
      }
    }
    Numbers x = product(left, scaled, n, m, n, false);
    Numbers gradient(x.size());
    for (index i = 0; i < n; ++i) {
      for (index j = 0; j < m; ++j) {
        const auto at = static_cast<std::size_t>(i * m + j);
        const auto value = static_cast<float>(x[at]);
        x[at] = value;
        gradient[tall ? static_cast<std::size_t>(j * n + i) : at] = value;
      }
    }
    // Take one step, and compare it with the definition in f64.
    ParameterStore store;
    store.add("w", {c.rows, c.cols}, Init::zeros(), Decay::yes, Role::hidden);
    store.allocate(0);
    Muon muon(store, {});
    write_gradient<float>(store.entry("w"), gradient);
    muon.step(1, 1);
    const Numbers expected = five_iterations(x, n, m);
    double worst = 0, largest = 0;
    for (index i = 0; i < n; ++i) {
      for (index j = 0; j < m; ++j) {
        const double found = store.weights<float>()[tall ? j * n + i : i * m + j] / (-0.2 * std::sqrt(static_cast<double>(m)));
        const double wanted = expected[static_cast<std::size_t>(i * m + j)];
        worst = std::max(worst, std::abs(found - wanted));
        largest = std::max(largest, std::abs(wanted));
      }
    }
    EXPECT_LT(worst, 3e-5 * largest) << c.rows << " x " << c.cols;
  }
}

TEST(MuonStep, ReportsTheScratchMemoryOfItsProductsToADryRun) {
  const auto scratch_of = [](index matrices) {
    const WithThreads with(1, Work{0});
    ParameterStore store;
    for (index i = 0; i < matrices; ++i) {
      store.add(concat("w", i), {300, 100}, Init::zeros(), Decay::yes, Role::hidden);
    }
    store.allocate(0);
    Muon muon(store, {});
    const DryRun dry;
    muon.update({}, muon.units());
    return dry.scratch_bytes(1);
  };
  EXPECT_GT(scratch_of(1), static_cast<std::size_t>(kernels::muon_workspace(300, 100)) * sizeof(float));
  EXPECT_EQ(scratch_of(4), scratch_of(1)) << "each thread updates one matrix after another";
}

TEST(MuonStep, RefusesNumbersThatAreNotFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* path : {"up", "wte"}) {
    for (const bool in_state : {false, true}) {
      ParameterStore store;
      add_matrices(store);
      store.allocate(3);
      Muon muon(store, {});
      muon.reserve();
      for (ParameterStore::Entry* entry : store.trainable()) {
        write_gradient<float>(*entry, some_numbers(entry->size(), 1));
      }
      if (in_state) {
        for (const StateSlab* slab : muon.state()) {
          for (const StateSlab::Part& part : slab->parts) {
            if (part.parameter->path == path) {
              slab->data<float>()[part.offset + 3] = inf;
            }
          }
        }
      } else {
        store.weights<float>()[store.entry(path).offset + 3] = inf;
      }
      EXPECT_TRUE(testing::names(testing::error_of([&] { muon.step(1, 0.1); }), {"step 1", path})) << in_state;
    }
  }
}

TEST(LowerProduct, IsTheWholeOneOnAndBelowTheDiagonal) {
  struct Case {
    index n;
    int threads;
  };
  const index k = 301;
  for (const auto [n, threads] : {Case{155, 1}, Case{155, 3}, Case{72, 1}}) {
    const std::vector<double> numbers = some_numbers(n * k, 3);
    const std::vector<float> a(numbers.begin(), numbers.end());
    const WithThreads with(threads, Work{0});
    std::vector<float> whole(static_cast<std::size_t>(n * n)), lower(whole.size(), -7);
    kernels::Gemm<float> product{
        .m = n, .n = n, .k = k, .a = a.data(), .lda = k, .b = a.data(), .ldb = k, .transpose_b = true, .c = whole.data(), .ldc = n};
    kernels::gemm_tiles(product);
    product.c = lower.data();
    product.lower = true;
    kernels::gemm_tiles(product);
    index left_out = 0;
    for (index row = 0; row < n; ++row) {
      for (index col = 0; col < n; ++col) {
        const auto at = static_cast<std::size_t>(row * n + col);
        ASSERT_TRUE(lower[at] == whole[at] || (col > row && lower[at] == -7)) << row << ", " << col << " of " << n;
        left_out += lower[at] == -7 ? 1 : 0;
      }
    }
    EXPECT_GT(left_out, n * n / 4);
  }
}

}  // namespace
}  // namespace dikkat::muon_test
