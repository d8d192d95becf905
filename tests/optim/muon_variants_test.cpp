// Compares every setting of Muon with its definition in plain loops, in f64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/optimizer/newton_schulz.h"
#include "optim/muon.h"
#include "tests/optim/store_of.h"
#include "tests/support/orthogonality.h"

namespace dikkat::muon_variants_test {
namespace {

using testing::names;

using testing::orthogonality;
using testing::Orthogonality;

using Numbers = std::vector<double>;

struct Matrix {
  index rows, cols;
  Numbers values;
  double& at(index i, index j) { return values[static_cast<std::size_t>(i * cols + j)]; }
  double at(index i, index j) const { return values[static_cast<std::size_t>(i * cols + j)]; }
};

Matrix zeros(index rows, index cols) { return {rows, cols, Numbers(static_cast<std::size_t>(rows * cols))}; }

Matrix transposed(const Matrix& a) {
  Matrix b = zeros(a.cols, a.rows);
  for (index i = 0; i < a.rows; ++i) {
    for (index j = 0; j < a.cols; ++j) {
      b.at(j, i) = a.at(i, j);
    }
  }
  return b;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c = zeros(a.rows, b.cols);
  for (index i = 0; i < a.rows; ++i) {
    for (index k = 0; k < a.cols; ++k) {
      for (index j = 0; j < b.cols; ++j) {
        c.at(i, j) += a.at(i, k) * b.at(k, j);
      }
    }
  }
  return c;
}

double norm(const Matrix& a) {
  double squares = 0;
  for (const double x : a.values) {
    squares += x * x;
  }
  return std::sqrt(squares);
}

struct Polynomial {
  double a, b, c;
};

/// The polynomials as published: the sources are Keller Jordan's muon.py, nanochat's optim.py and Turbo-Muon's newton_schulz_triton.py.
std::vector<Polynomial> polynomials(MuonCoefficients coefficients, index steps) {
  const auto count = static_cast<std::ptrdiff_t>(steps);
  if (coefficients == MuonCoefficients::jordan) {
    return std::vector<Polynomial>(static_cast<std::size_t>(steps), {3.4445, -4.7750, 2.0315});
  }
  if (coefficients == MuonCoefficients::polar_express) {
    const std::vector<Polynomial> all = {{8.156554524902461, -22.48329292557795, 15.878769915207462},
                                         {4.042929935166739, -2.808917465908714, .5000178451051316},
                                         {3.8916678022926607, -2.772484153217685, .5060648178503393},
                                         {3.285753657755655, -2.3681294933425376, .46449024233003106},
                                         {2.3465413258596377, -1.7097828382687081, .42323551169305323}};
    return {all.begin(), all.begin() + count};
  }
  const std::vector<Polynomial> all = {{4.0848, -6.8946, 2.9270},
                                       {3.9505, -6.3029, 2.6377},
                                       {3.7418, -5.5913, 2.3037},
                                       {2.8769, -3.1427, 1.2046},
                                       {2.8366, -3.0525, 1.2012}};
  return {all.end() - count, all.end()};
}

Matrix orthogonalised(Matrix x, MuonCoefficients coefficients, index steps) {
  if (x.rows > x.cols) {
    return transposed(orthogonalised(transposed(x), coefficients, steps));
  }
  // Divide by the norm.
  const bool polar = coefficients == MuonCoefficients::polar_express;
  const double by = polar ? 1.01 * norm(x) + 1e-6 : norm(x) + 1e-7;
  for (double& value : x.values) {
    value /= by;
  }
  // Turbo-Muon balances the rows.
  if (coefficients == MuonCoefficients::turbo) {
    const Matrix a = product(x, transposed(x));
    for (index i = 0; i < x.rows; ++i) {
      double sum = 0;
      for (index j = 0; j < x.rows; ++j) {
        sum += std::abs(a.at(i, j));
      }
      for (index j = 0; j < x.cols; ++j) {
        x.at(i, j) /= std::sqrt(std::max(sum, 1e-14));
      }
    }
  }
  // Apply the polynomials.
  for (const auto [a, b, c] : polynomials(coefficients, steps)) {
    const Matrix gram = product(x, transposed(x));
    Matrix p = product(gram, gram);
    for (std::size_t i = 0; i < p.values.size(); ++i) {
      p.values[i] = b * gram.values[i] + c * p.values[i];
    }
    const Matrix px = product(p, x);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      x.values[i] = a * x.values[i] + px.values[i];
    }
  }
  return x;
}

struct Settings {
  Muon::Options options;
  double factor = 1;  // of weight decay
};

/// An update of one matrix, line by line.
struct Definition {
  Matrix weight, momentum, lines;

  void step(const Numbers& gradient, double rate, double beta, const Settings& s) {
    // Update the momentum.
    Matrix u = zeros(weight.rows, weight.cols);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      momentum.values[i] = beta * momentum.values[i] + (1 - beta) * gradient[i];
      u.values[i] = beta * momentum.values[i] + (1 - beta) * gradient[i];
    }
    const MuonCoefficients coefficients = s.options.coefficients;
    Matrix d = orthogonalised(u, coefficients, s.options.steps.value_or(coefficients == MuonCoefficients::turbo ? 4 : 5));
    // NorMuon divides each line by its running root mean square.
    if (s.options.beta2) {
      const bool of_rows = d.rows >= d.cols;
      Matrix by_lines = of_rows ? d : transposed(d);
      const double before = norm(by_lines);
      for (index i = 0; i < by_lines.rows; ++i) {
        double mean = 0;
        for (index j = 0; j < by_lines.cols; ++j) {
          mean += by_lines.at(i, j) * by_lines.at(i, j) / static_cast<double>(by_lines.cols);
        }
        lines.at(0, i) = *s.options.beta2 * lines.at(0, i) + (1 - *s.options.beta2) * mean;
        for (index j = 0; j < by_lines.cols; ++j) {
          by_lines.at(i, j) /= std::sqrt(std::max(lines.at(0, i), 1e-10));
        }
      }
      const double after = norm(by_lines);
      for (double& value : by_lines.values) {
        value *= before / after;
      }
      d = of_rows ? by_lines : transposed(by_lines);
    }
    // Update the weight, with its decay.
    const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(d.rows, d.cols)));
    const double decay = s.options.adamw.weight_decay * s.factor;
    for (std::size_t i = 0; i < d.values.size(); ++i) {
      double& w = weight.values[i];
      const bool decays = !s.options.adamw.cautious_decay || d.values[i] * w >= 0;
      w = w - rate * (scale * d.values[i] + (decays ? decay * w : 0));
    }
  }
};

std::vector<Settings> all_settings() {
  std::vector<Settings> all;
  for (const MuonCoefficients coefficients : {MuonCoefficients::jordan, MuonCoefficients::polar_express, MuonCoefficients::turbo}) {
    for (const bool normalize : {false, true}) {
      for (const bool cautious : {false, true}) {
        Settings s{.options = {.coefficients = coefficients, .adamw = {.weight_decay = 0.5, .cautious_decay = cautious}},
                   .factor = cautious ? 0.25 : 1};
        if (normalize) {
          s.options.beta2 = 0.7;
        }
        all.push_back(s);
      }
    }
  }
  return all;
}

constexpr std::pair<index, index> kShapes[] = {{24, 24}, {24, 40}, {40, 24}, {20, 70}, {70, 20}, {1, 9}, {9, 1}};

template <class T>
void compare_with_definition(double tolerance) {
  for (const Settings& s : all_settings()) {
    for (const auto& [rows, cols] : kShapes) {
      ParameterStore store(kDType<T>);
      store.add("w", {rows, cols}, Init::normal(0.5), Decay::yes, Role::hidden);
      store.allocate(3);
      Definition expected{{rows, cols, values_of(store.weights<T>(), store.entry("w"))}, zeros(rows, cols), zeros(1, std::max(rows, cols))};
      Muon muon(store, s.options);
      for (index step = 1; step <= 4; ++step) {
        const Numbers gradient = some_numbers(rows * cols, static_cast<std::uint64_t>(step), 0.1);
        const double rate = 0.1 / static_cast<double>(step), beta = 0.8 + 0.03 * static_cast<double>(step);
        write_gradient<T>(store.entry("w"), gradient);
        muon.step({.step = step, .learning_rate = rate, .weight_decay_factor = s.factor, .momentum = beta});
        expected.step(gradient, rate, beta, s);
      }
      const Numbers found = values_of(store.weights<T>(), store.entry("w"));
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected.weight.values[i], tolerance)
            << name_of(s.options.coefficients) << ' ' << rows << " x " << cols << (s.options.beta2 ? " normalized" : "")
            << (s.options.adamw.cautious_decay ? " cautious" : "");
      }
      if (s.options.beta2) {
        const StateSlab& lines = *muon.state()[1];
        ASSERT_EQ(lines.name, "lines");
        ASSERT_EQ(lines.parts[0].shape, (Shape{std::max(rows, cols)}));
        for (index i = 0; i < std::max(rows, cols); ++i) {
          ASSERT_NEAR(lines.data<T>()[i], expected.lines.at(0, i), tolerance);
        }
      }
    }
  }
}

TEST(MuonVariants, AreTheirDefinitionsInF64) { compare_with_definition<double>(1e-11); }
TEST(MuonVariants, AreTheirDefinitionsInF32) { compare_with_definition<float>(2e-4); }

/// A matrix with singular values of about 1 to 10^-range.
Matrix ill_conditioned(index rows, index cols, double range, std::uint64_t seed) {
  const index n = std::min(rows, cols), m = std::max(rows, cols);
  Matrix scaled{n, m, some_numbers(n * m, seed)};
  for (index i = 0; i < n; ++i) {
    for (index j = 0; j < m; ++j) {
      scaled.at(i, j) *= std::pow(10, -range * static_cast<double>(i) / static_cast<double>(n));
    }
  }
  Matrix x = product({n, n, some_numbers(n * n, seed + 1)}, scaled);
  for (double& value : x.values) {
    value = static_cast<float>(value);
  }
  return rows > cols ? transposed(x) : x;
}

/// The update of one separate matrix, as f32 computes it.
Matrix update_of(const Matrix& gradient, const Muon::Options& options) {
  ParameterStore store;
  store.add("w", {gradient.rows, gradient.cols}, Init::zeros(), Decay::yes, Role::hidden);
  store.allocate(0);
  Muon muon(store, options);
  write_gradient<float>(store.entry("w"), gradient.values);
  muon.step(1, 1);
  Matrix x = zeros(gradient.rows, gradient.cols);
  const double scale = -0.2 * std::sqrt(static_cast<double>(std::max(gradient.rows, gradient.cols)));
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    x.values[i] = store.weights<float>()[i] / scale;
  }
  return x;
}

// Groups of iterations on one Gram matrix would lose small singular values first: those down to 1e-4 of the largest.
TEST(MuonVariants, KeepTheDigitsOfF32InEveryNumberOfSteps) {
  for (const MuonCoefficients coefficients : {MuonCoefficients::jordan, MuonCoefficients::polar_express, MuonCoefficients::turbo}) {
    for (index steps = 1; steps <= most_steps(coefficients); ++steps) {
      for (const auto& [rows, cols] : {std::pair<index, index>{40, 79}, {40, 80}, {200, 40}}) {
        const Matrix x = ill_conditioned(rows, cols, 4, 1);
        const Matrix expected = orthogonalised(x, coefficients, steps);
        const Matrix found = update_of(x, {.coefficients = coefficients, .steps = steps});
        double worst = 0, largest = 0;
        for (std::size_t i = 0; i < x.values.size(); ++i) {
          worst = std::max(worst, std::abs(found.values[i] - expected.values[i]));
          largest = std::max(largest, std::abs(expected.values[i]));
        }
        // From the sixth step on, Jordan's polynomial spreads singular values near 1, and rounding with them.
        const double spread = std::pow(3, static_cast<double>(std::max<index>(0, steps - 5)));
        EXPECT_LT(worst, spread * (coefficients == MuonCoefficients::turbo && steps == 5 ? 4e-5 : 2e-5) * largest)
            << name_of(coefficients) << ' ' << steps << " steps, " << rows << " x " << cols;
      }
    }
  }
}

Orthogonality of_update(index rows, index cols, const Muon::Options& options) {
  const Matrix x = update_of({rows, cols, some_numbers(rows * cols, 5)}, options);
  return orthogonality(rows, cols, std::vector<float>(x.values.begin(), x.values.end()).data());
}

TEST(MuonVariants, MakeUpdatesAsOrthogonalAsTheyPromise) {
  for (const auto& [rows, cols] : {std::pair<index, index>{64, 64}, {64, 256}, {256, 64}}) {
    const auto rms = [&, r = rows, c = cols](MuonCoefficients coefficients) { return of_update(r, c, {.coefficients = coefficients}).rms; };
    EXPECT_LT(rms(MuonCoefficients::jordan), 0.4);
    EXPECT_LT(rms(MuonCoefficients::polar_express), 0.2);
    EXPECT_LT(rms(MuonCoefficients::turbo), 0.15);
  }
}

// The rounding of bf16 has a share of 2^-9 in each product, so an update is as orthogonal as in f32 and differs little from it.
TEST(MuonVariants, StayOrthogonalWithProductsOfBf16) {
  for (const auto& [rows, cols] : {std::pair<index, index>{64, 64}, {64, 256}, {256, 64}}) {
    for (const MuonCoefficients coefficients : {MuonCoefficients::jordan, MuonCoefficients::polar_express, MuonCoefficients::turbo}) {
      const double rms = of_update(rows, cols, {.coefficients = coefficients}).rms;
      const double rms_of_bf16 = of_update(rows, cols, {.coefficients = coefficients, .bf16_products = true}).rms;
      EXPECT_LT(rms_of_bf16, 1.1 * rms + 0.02) << name_of(coefficients) << ' ' << rows << " x " << cols;
      const Matrix gradient{rows, cols, some_numbers(rows * cols, 5)};
      const Matrix exact = update_of(gradient, {.coefficients = coefficients});
      Matrix difference = update_of(gradient, {.coefficients = coefficients, .bf16_products = true});
      for (std::size_t i = 0; i < exact.values.size(); ++i) {
        difference.values[i] -= exact.values[i];
      }
      const double share = norm(difference) / norm(exact);
      EXPECT_LT(share, 0.05) << name_of(coefficients) << ' ' << rows << " x " << cols;
      EXPECT_GT(share, 1e-5) << "products were not rounded";
    }
  }
}

TEST(OrthogonalityOf, KnowsSingularValues) {
  constexpr index kRows = 5, kCols = 9;
  std::vector<float> x(kRows * kCols);
  for (index i = 0; i < kRows; ++i) {
    x[static_cast<std::size_t>(i * kCols + i)] = i == 3 ? 2.0F : 1.0F;
  }
  const Orthogonality wide = orthogonality(kRows, kCols, x.data());
  EXPECT_NEAR(wide.rms, std::sqrt(9.0 / 5), 1e-12);
  EXPECT_NEAR(wide.largest, 3, 1e-9);
  std::vector<float> tall(x.size());
  for (index i = 0; i < kCols; ++i) {
    tall[static_cast<std::size_t>(i * kRows + i % kRows)] = i < kRows ? 1.0F : 0.0F;
  }
  EXPECT_EQ(orthogonality(kCols, kRows, tall.data()).rms, 0);
  EXPECT_EQ(orthogonality(kCols, kRows, tall.data()).largest, 0);
}

TEST(MuonVariants, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const MuonCoefficients coefficients : {MuonCoefficients::polar_express, MuonCoefficients::turbo}) {
    for (const bool bf16_products : {false, true}) {
      const auto on = [&](int threads) {
        const WithThreads with(threads, Work{0});
        ParameterStore store;
        store.add("qkv", {3 * 40, 40}, Init::normal(0.5), Decay::yes, Role::hidden, {40, 40, 40});
        store.add("up", {391, 97}, Init::normal(0.5), Decay::yes, Role::hidden);
        store.add("down", {97, 391}, Init::normal(0.5), Decay::yes, Role::hidden);
        store.allocate(3);
        Muon muon(store, {.coefficients = coefficients, .bf16_products = bf16_products, .beta2 = 0.9, .adamw = {.cautious_decay = true}});
        muon.reserve();
        for (index step = 1; step <= 3; ++step) {
          for (ParameterStore::Entry* entry : store.trainable()) {
            write_gradient<float>(*entry, some_numbers(entry->size(), static_cast<std::uint64_t>(step)));
          }
          muon.step(step, 0.01);
        }
        std::vector<float> result(store.weights<float>(), store.weights<float>() + store.slab_size());
        for (const StateSlab* slab : muon.state()) {
          result.insert(result.end(), slab->data<float>(), slab->data<float>() + slab->size);
        }
        return result;
      };
      const auto one = on(1);
      EXPECT_EQ(one, on(2)) << "a matrix for each thread";
      EXPECT_EQ(one, on(7)) << "all threads for each matrix";
    }
  }
}

TEST(MuonVariants, RefuseMeanSquaresThatAreNotFinite) {
  ParameterStore store;
  store.add("w", {30, 20}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.allocate(3);
  Muon muon(store, {.beta2 = 0.9});
  muon.reserve();
  muon.state()[1]->data<float>()[7] = std::numeric_limits<float>::infinity();
  write_gradient<float>(store.entry("w"), some_numbers(600, 1));
  EXPECT_TRUE(names(testing::error_of([&] { muon.step(1, 0.1); }), {"step 1", "w"}))
      << "a row whose mean square stays infinite would never move again, and nothing would show it";
}

// The memory plan of a run comes from a dry update, after the state has been mapped.
TEST(MuonVariants, DoNotChangeTheirStateInADryRun) {
  ParameterStore store;
  store.add("w", {30, 20}, Init::normal(0.5), Decay::yes, Role::hidden);
  store.allocate(3);
  Muon muon(store, {.coefficients = MuonCoefficients::turbo, .beta2 = 0.9});
  muon.reserve();
  for (const StateSlab* slab : muon.state()) {
    std::fill_n(slab->data<float>(), slab->size, 2.0F);
  }
  {
    const DryRun dry;
    muon.update({}, muon.units());
  }
  for (const StateSlab* slab : muon.state()) {
    EXPECT_EQ(std::count(slab->data<float>(), slab->data<float>() + slab->size, 2.0F), slab->size) << slab->name;
  }
}

TEST(MuonVariants, OfNoGradientIsNoUpdate) {
  for (const Settings& s : all_settings()) {
    ParameterStore store;
    store.add("w", {30, 20}, Init::normal(0.5), Decay::no, Role::hidden);
    store.allocate(3);
    const Numbers before = values_of(store.weights<float>(), store.entry("w"));
    Muon muon(store, s.options);
    write_gradient<float>(store.entry("w"), Numbers(600));
    muon.step(1, 0.1);
    EXPECT_EQ(values_of(store.weights<float>(), store.entry("w")), before);
  }
}

TEST(NewtonSchulzSteps, AreRefusedWithoutPolynomials) {
  EXPECT_EQ(usual_steps(MuonCoefficients::jordan), 5);
  EXPECT_EQ(usual_steps(MuonCoefficients::turbo), 4);
  EXPECT_TRUE(names(testing::error_of([] { newton_schulz(MuonCoefficients::polar_express, 6); }),
                    {"newton_schulz", "6 steps", "polar_express", "1", "5"}));
  EXPECT_NE(testing::error_of([] { newton_schulz(MuonCoefficients::jordan, 0); }), "");
}

}  // namespace
}  // namespace dikkat::muon_variants_test
