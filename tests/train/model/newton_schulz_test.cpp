// Compares Muon's iteration in f32 and with products of bf16 with the one in f64, for matrices of the extents of every recipe and for the
// gradients that training has: their rank is low where few tokens or few features were seen.
#include "optim/newton_schulz.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/kernels/optimizer/newton_schulz.h"
#include "tests/optim/store_of.h"
#include "tests/support/orthogonality.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/model/language_model.h"

namespace dikkat {
namespace {

using Extents = std::pair<index, index>;

/// Returns the extents of all matrices that Muon updates in the recipes of configs/. Those longer than `longest` keep their ratio.
std::set<Extents> extents_of_recipes(index longest) {
  std::set<Extents> all = {{8, 256}, {256, 8}};  // small matrices lose the most
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(DIKKAT_SOURCE_DIR) / "configs")) {
    Config config = load_config(file.path());
    resolve(config);
    LanguageModel model(config.model, 64);
    for (const ParameterStore::Entry* entry : model.parameters().entries()) {
      if (entry->role != Role::hidden || entry->shape().rank() != 2) {
        continue;
      }
      std::vector<index> parts = entry->row_parts;
      if (parts.empty()) {
        parts = {entry->shape()[0]};
      }
      for (const index rows : parts) {
        const index cols = entry->shape()[1];
        const double scale = std::min(1.0, static_cast<double>(longest) / static_cast<double>(std::max(rows, cols)));
        const auto scaled = [&](index extent) { return std::max<index>(1, std::lround(scale * static_cast<double>(extent))); };
        all.insert({scaled(rows), scaled(cols)});
      }
    }
  }
  return all;
}

/// Returns a matrix of this rank; 0 stands for random numbers, so for full rank.
std::vector<float> gradient_of(Extents extents, index rank, std::uint64_t seed) {
  const auto [rows, cols] = extents;
  std::vector<float> g(static_cast<std::size_t>(rows * cols));
  if (rank == 0) {
    const std::vector<double> numbers = some_numbers(rows * cols, seed);
    return {numbers.begin(), numbers.end()};
  }
  const std::vector<double> left = some_numbers(rows * rank, seed), right = some_numbers(rank * cols, seed + 1);
  for (index i = 0; i < rows; ++i) {
    for (index j = 0; j < cols; ++j) {
      double sum = 0;
      for (index r = 0; r < rank; ++r) {
        sum += left[static_cast<std::size_t>(i * rank + r)] * right[static_cast<std::size_t>(r * cols + j)];
      }
      g[static_cast<std::size_t>(i * cols + j)] = static_cast<float>(sum);
    }
  }
  return g;
}

template <class T>
std::vector<T> orthogonalised(const kernels::NewtonSchulz& how, Extents extents, const std::vector<float>& gradient) {
  const auto [rows, cols] = extents;
  std::vector<T> x(gradient.begin(), gradient.end()), other(x.size());
  std::vector<T> workspace(static_cast<std::size_t>(kernels::newton_schulz_workspace(rows, cols)));
  const T* result = kernels::orthogonalise<T>(how, rows, cols, x.data(), other.data(), workspace.data());
  return {result, result + rows * cols};
}

template <class A, class B>
double inner_product(const std::vector<A>& a, const std::vector<B>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

TEST(NewtonSchulz, StaysNearItsDefinitionForEveryRankAndRecipe) {
  const bool is_long = std::getenv("DIKKAT_LONG_TESTS") != nullptr;  // the real extents
  const std::vector<index> ranks = is_long ? std::vector<index>{1} : std::vector<index>{1, 2, 4, 8, 0};
  const std::set<Extents> all = extents_of_recipes(is_long ? index{1} << 20 : 192);
  EXPECT_GT(all.size(), 20U);
  for (const MuonCoefficients coefficients : {MuonCoefficients::jordan, MuonCoefficients::polar_express, MuonCoefficients::turbo}) {
    const kernels::NewtonSchulz how = newton_schulz(coefficients, usual_steps(coefficients));
    kernels::NewtonSchulz in_bf16 = how;
    in_bf16.bf16 = true;
    for (const Extents& extents : all) {
      for (const index rank : ranks) {
        const std::string name =
            concat(name_of(coefficients), ' ', extents.first, " x ", extents.second, rank == 0 ? " random" : concat(" of rank ", rank));
        const std::vector<float> gradient = gradient_of(extents, rank, 7);
        const std::vector<double> expected = orthogonalised<double>(how, extents, gradient);
        const double squares = inner_product(expected, expected);
        // Directions in which the gradient is nothing but rounding grow by the product of the polynomials' slopes at 0, which is 980.
        std::vector<float> found = orthogonalised<float>(how, extents, gradient);
        double error = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
          error += std::pow(static_cast<double>(found[i]) - expected[i], 2);
        }
        EXPECT_LT(std::sqrt(error / squares), 5e-4) << name << " in f32";
        // In bf16 they may grow to singular values of 1, as any other does. What the gradient says has to stay.
        found = orthogonalised<float>(in_bf16, extents, gradient);
        EXPECT_LT(testing::orthogonality(extents.first, extents.second, found.data()).largest, 1.02) << name << " in bf16";
        EXPECT_NEAR(inner_product(found, expected) / squares, 1, 0.1) << name << " in bf16";
      }
    }
  }
}

}  // namespace
}  // namespace dikkat
