#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/matmul.h"
#include "tests/gradcheck/case.h"

// The cases of matmul, einsum, the diagonals that it takes, and linear.
namespace dikkat::gradcheck {

/// Three ragged sizes: combination i of 16.
struct Sizes {
  index m, n, k;
};
inline std::vector<Sizes> ragged_sizes() {
  std::vector<Sizes> all;
  constexpr std::size_t kCount = std::size(kRaggedSizes);
  for (std::size_t i = 0; i < kCount; ++i) {
    all.push_back({kRaggedSizes[i], kRaggedSizes[(i + 3) % kCount], kRaggedSizes[(i + 6) % kCount]});
    all.push_back({kRaggedSizes[i], kRaggedSizes[kCount - 1 - i], kRaggedSizes[(5 * i + 2) % kCount]});
  }
  return all;
}

template <>
struct GradCase<Op::matmul> {
  static Function op(bool transpose_b) {
    return [transpose_b](Tape&, std::span<const Tensor> t) { return matmul(t[0], t[1], transpose_b); };
  }
  /// The products of a (count, m, k) and b, of which product i takes the matrices a_of(i) and b_of(i).
  template <class A, class B>
  static Oracle loops(std::size_t count, std::size_t m, std::size_t n, std::size_t k, bool transpose_b, A a_of, B b_of) {
    return [=](std::span<const std::vector<double>> x) {
      std::vector<double> y(count * m * n, 0.0);
      for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t l = 0; l < k; ++l) {
              y[(c * m + i) * n + j] += x[0][(a_of(c) * m + i) * k + l] * x[1][b_of(c) * k * n + (transpose_b ? j * k + l : l * n + j)];
            }
          }
        }
      }
      return y;
    };
  }
  static Oracle loops(std::size_t count, std::size_t m, std::size_t n, std::size_t k, bool transpose_b) {
    const auto same = [](std::size_t i) { return i; };
    return loops(count, m, n, k, transpose_b, same, same);
  }
  static std::vector<Sample> samples() {
    const auto same = [](std::size_t i) { return i; };
    const auto none = [](std::size_t) { return std::size_t{0}; };
    return {{"matrices", {operand({3, 4}, 1), operand({4, 5}, 2)}, op(false), {}, loops(1, 3, 5, 4, false)},
            {"b transposed", {operand({3, 4}, 1), operand({5, 4}, 2)}, op(true), {}, loops(1, 3, 5, 4, true)},
            {"square", {operand({4, 4}, 1), operand({4, 4}, 2)}, op(false), {}, loops(1, 4, 4, 4, false)},
            {"square, b transposed", {operand({4, 4}, 1), operand({4, 4}, 2)}, op(true), {}, loops(1, 4, 4, 4, true)},
            {"of rank 3", {operand({3, 2, 4}, 1), operand({3, 4, 2}, 2)}, op(false), {}, loops(3, 2, 2, 4, false)},
            {"of rank 4, b transposed", {operand({2, 2, 3, 4}, 1), operand({2, 2, 2, 4}, 2)}, op(true), {}, loops(4, 3, 2, 4, true)},
            {"one b", {operand({3, 2, 4}, 1), operand({4, 5}, 2)}, op(false), {}, loops(3, 2, 5, 4, false, same, none)},
            {"one a", {operand({2, 4}, 1), operand({3, 5, 4}, 2)}, op(true), {}, loops(3, 2, 5, 4, true, none, same)},
            {"axes of 1 on both sides",
             {operand({2, 1, 3, 4}, 1), operand({3, 4, 2}, 2)},
             op(false),
             {},
             loops(
                 6, 3, 2, 4, false, [](std::size_t i) { return i / 3; }, [](std::size_t i) { return i % 3; })},
            {"the inner axis repeats",
             {operand({2, 3, 1, 2, 2}, 1), operand({3, 2, 2, 2}, 2)},
             op(true),
             {},
             loops(
                 12, 2, 2, 2, true, [](std::size_t i) { return i / 2; }, [](std::size_t i) { return i % 6; })},
            {"one row", {operand({4}, 1), operand({3, 4, 2}, 2)}, op(false), {}, loops(3, 1, 2, 4, false, none, same)},
            {"one column", {operand({3, 2, 4}, 1), operand({4}, 2)}, op(false), {}, loops(1, 6, 1, 4, false)},
            {"two vectors", {operand({4}, 1), operand({4}, 2)}, op(false), {}, loops(1, 1, 1, 4, false)}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back({concat(s.m, " by ", s.n, " by ", s.k), {operand({s.m, s.k}, 1), operand({s.k, s.n}, 2)}, op(false), {}, {}});
      samples.push_back(
          {concat(s.m, " by ", s.n, " by ", s.k, ", b transposed"), {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2)}, op(true), {}, {}});
    }
    samples.push_back({"sums of both gradients", {operand({3, 1, 17, 9}, 1), operand({33, 9, 20}, 2)}, op(false), {}, {}});
    samples.push_back({"rows of a batch", {operand({5, 7, 33}, 1), operand({19, 33}, 2)}, op(true), {}, {}});
    samples.push_back({"columns", {operand({9, 65, 33}, 1), operand({33}, 2)}, op(false), {}, {}});
    samples.push_back({"many sums", {operand({31, 16}, 1), operand({100, 16, 15}, 2)}, op(false), {}, {}});
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"inner sizes differ", [](Tape& t) { matmul(some(t, {3, 4}), some(t, {5, 4})); }},
            {"inner sizes differ, b transposed", [](Tape& t) { matmul(some(t, {3, 4}), some(t, {4, 5}), true); }},
            {"leading axes differ", [](Tape& t) { matmul(some(t, {2, 3, 4}), some(t, {3, 4, 5})); }},
            {"a middle axis differs", [](Tape& t) { matmul(some(t, {2, 3, 3, 4}), some(t, {2, 2, 4, 5})); }},
            {"a scalar", [](Tape& t) { matmul(some(t, {}), some(t, {4, 4})); }},
            {"times a scalar", [](Tape& t) { matmul(some(t, {4}), some(t, {})); }},
            {"vectors of different lengths", [](Tape& t) { matmul(some(t, {4}), some(t, {3})); }},
            {"a column of another length", [](Tape& t) { matmul(some(t, {3, 4}), some(t, {3})); }}};
  }
};

template <>
struct GradCase<Op::einsum> {
  static Function op(const char* formula) {
    return [formula](Tape&, std::span<const Tensor> t) { return t.size() == 2 ? einsum(formula, t[0], t[1]) : einsum(formula, t[0]); };
  }
  /// The definition: a loop over all letters of "ab,bc->ac", in which each has the extent extents[letter - 'a'].
  static Oracle loops(std::string formula, std::vector<std::size_t> extents) {
    return [=](std::span<const std::vector<double>> x) {
      const auto arrow = formula.find("->"), comma = formula.find(',');
      const std::string result = formula.substr(arrow + 2);
      std::vector<std::string> parts{formula.substr(0, std::min(comma, arrow))};
      if (comma != std::string::npos) {
        parts.push_back(formula.substr(comma + 1, arrow - comma - 1));
      }
      std::vector<std::size_t> at(extents.size());
      const auto place = [&](const std::string& letters) {
        std::size_t i = 0;
        for (const char letter : letters) {
          const auto k = static_cast<std::size_t>(letter - 'a');
          i = i * extents[k] + at[k];
        }
        return i;
      };
      std::size_t all = 1, size = 1;
      for (const std::size_t extent : extents) {
        all *= extent;
      }
      for (const char letter : result) {
        size *= extents[static_cast<std::size_t>(letter - 'a')];
      }
      std::vector<double> y(size, 0.0);
      for (std::size_t i = 0; i < all; ++i) {
        for (std::size_t k = 0, rest = i; k < at.size(); rest /= extents[k], ++k) {
          at[k] = rest % extents[k];
        }
        y[place(result)] += x[0][place(parts[0])] * (parts.size() > 1 ? x[1][place(parts[1])] : 1);
      }
      return y;
    };
  }
  /// A sample whose operands have the extents 2, 3, 2, 4, 3 for a, b, c, d, e.
  static Sample sample(const char* formula) {
    static constexpr std::size_t kExtents[] = {2, 3, 2, 4, 3};
    const std::string text = formula;
    Sample made{formula, {}, op(formula), {}, {}};
    char last = 'a';
    std::vector<index> extents;
    for (const char c : text) {
      if ('a' <= c && c <= 'e') {
        extents.push_back(static_cast<index>(kExtents[c - 'a']));
        last = std::max(last, c);
      } else if (c == ',' || c == '-') {
        made.operands.push_back(operand(Shape(extents), made.operands.size() + 1));
        extents.clear();
      }
    }
    std::vector<std::size_t> by_letter;
    for (char letter = 'a'; letter <= last; ++letter) {
      by_letter.push_back(text.find(letter) == std::string::npos ? 1 : kExtents[letter - 'a']);
    }
    made.oracle = loops(text, by_letter);
    return made;
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> all;
    for (const char* formula :
         {"ab,bd->ad",     "ac,ca->ac",       "abd,adc->abc",    "abd,acd->abc",    "ba,bd->ad",     "ab,bd->da",    "abd,cbd->ac",
          "abd,bd->a",     "bd,abd->a",       "ab,ab->a",        "ab,ab->ba",       "ab,bd->",       "ab,cd->adbc",  "ab,d->abd",
          "ab,ab->",       "abcd,aecd->acbe", "abcd,acbe->aecd", "acbd,aebd->abce", "abde,bae->abd", "abd,abd->dab", "abc,dbe->ad",
          "adbc,dbe->aec", "ab->ba",          "abd->d",          "abd->bda",        "ab->"}) {
      all.push_back(sample(formula));
    }
    return all;
  }
  static std::vector<Sample> ragged() {
    return {{"heads", {operand({2, 17, 3, 16}, 1), operand({2, 33, 3, 16}, 2)}, op("bthd,bshd->bhts"), {}, {}},
            {"values", {operand({2, 3, 17, 33}, 1), operand({2, 33, 3, 16}, 2)}, op("bhts,bshd->bthd"), {}, {}},
            {"columns", {operand({65, 17}, 1), operand({63, 65}, 2)}, op("ki,jk->ij"), {}, {}},
            {"relative positions", {operand({3, 4, 17, 9}, 1), operand({4, 31, 9}, 2)}, op("bhtd,hrd->bhtr"), {}, {}}};
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](const char* formula, Shape a, Shape b) { return [=](Tape& t) { einsum(formula, some(t, a), some(t, b)); }; };
    const auto of_one = [](const char* formula, Shape x) { return [=](Tape& t) { einsum(formula, some(t, x)); }; };
    return {{"two extents of a letter", of("ab,bc->ac", {2, 3}, {4, 5})},
            {"two extents of a diagonal", of_one("aa->a", {2, 3})},
            {"two extents of dots", of("...a,...a", {2, 3}, {4, 3})},
            {"too few letters", of("ab,bc->ac", {2, 3, 4}, {3, 5})},
            {"too many letters", of("ab,bc->ac", {2}, {3, 5})},
            {"too many letters beside dots", of("...ab,bc->ac", {2}, {3, 5})},
            {"one operand too few", of("ab->ba", {2, 3}, {3, 5})},
            {"one operand too many", of_one("ab,bc->ac", {2, 3})},
            {"a letter of nothing", of("ab,bc->ad", {2, 3}, {3, 5})},
            {"a letter of the result twice", of("ab,bc->aac", {2, 3}, {3, 5})},
            {"dots twice", of_one("......->...", {2, 3})},
            {"a digit", of("a1,1c->ac", {2, 3}, {3, 5})},
            {"two arrows", of("ab,bc->ac->", {2, 3}, {3, 5})},
            {"nine axes", of("abcde,fghij->abcdefghij", {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1})}};
  }
};

template <>
struct GradCase<Op::diagonal> {
  static Function op(int a, int b) {
    return [=](Tape&, std::span<const Tensor> t) { return diagonal(t[0], a, b); };
  }
  /// The elements at these places of x.
  static Oracle at(std::vector<std::size_t> places) {
    return [=](std::span<const std::vector<double>> x) {
      std::vector<double> y;
      for (const std::size_t place : places) {
        y.push_back(x[0][place]);
      }
      return y;
    };
  }
  static std::vector<Sample> samples() {
    return {{"of a matrix", {operand({3, 3}, 1)}, op(0, 1), {}, at({0, 4, 8})},
            {"of the last axes", {operand({2, 2, 2}, 1)}, op(-1, -2), {}, at({0, 3, 4, 7})},
            {"of the outer axes", {operand({2, 3, 2}, 1)}, op(2, 0), {}, at({0, 7, 2, 9, 4, 11})}};
  }
  static std::vector<Sample> ragged() {
    return {{"17 by 17", {operand({3, 17, 17}, 1)}, op(-2, -1), {}, {}}, {"65 by 65", {operand({65, 7, 65}, 1)}, op(0, 2), {}, {}}};
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](Shape shape, int a, int b) { return [=](Tape& t) { diagonal(some(t, shape), a, b); }; };
    return {{"other extents", of({2, 3}, 0, 1)}, {"one axis twice", of({3, 3}, 1, -1)}, {"no such axis", of({3, 3}, 0, 2)}};
  }
};

template <>
struct GradCase<Op::linear> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return linear(t[0], t[1], t.size() > 2 ? t[2] : Tensor{}); }
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    const Shape& s = t[0].shape();
    const Tensor y = matmul(reshape(t[0], {s.with_cols(1).rows(), s.cols()}), t[1], true);
    return reshape(t.size() > 2 ? add(y, t[2]) : y, s.with_cols(t[1].shape()[0]));
  }
  static std::vector<Sample> samples() {
    return {{"with bias", {operand({3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, op, definition, {}},
            {"without bias", {operand({3, 4}, 1), operand({5, 4}, 2)}, op, definition, {}},
            {"of rank 3", {operand({2, 3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, op, definition, {}},
            {"of one vector", {operand({4}, 1), operand({4, 4}, 2), operand({4}, 3)}, op, definition, {}},
            {"square", {operand({4, 4}, 1), operand({4, 4}, 2), operand({4}, 3)}, op, definition, {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back(
          {concat(s.m, " by ", s.n, " by ", s.k), {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2), operand({s.n}, 3)}, op, {}, {}});
    }
    samples.push_back({"several blocks of rows", {operand({300, 65}, 1), operand({33, 65}, 2), operand({33}, 3)}, op, {}, {}});
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"inner sizes differ", [](Tape& t) { linear(some(t, {3, 4}), some(t, {5, 3})); }},
            {"a weight that is a vector", [](Tape& t) { linear(some(t, {3, 4}), some(t, {4})); }},
            {"a bias of x's width", [](Tape& t) { linear(some(t, {3, 4}), some(t, {5, 4}), some(t, {4})); }},
            {"a bias of rank 2", [](Tape& t) { linear(some(t, {3, 4}), some(t, {5, 4}), some(t, {1, 5})); }}};
  }
};

template <>
struct GradCase<Op::activated_linear> {
  template <Activation kind, bool is_gated = false>
  static Tensor op(Tape&, std::span<const Tensor> t) {
    return activated_linear({kind, is_gated}, t[0], t[1], t.size() > 2 ? t[2] : Tensor{});
  }
  template <Activation kind, bool is_gated = false>
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    return linear(activate({kind, is_gated}, t[0]), t[1], t.size() > 2 ? t[2] : Tensor{});
  }
  static std::vector<Sample> samples() {
    constexpr auto gelu_op = op<Activation::gelu>;
    constexpr auto of_gelu = definition<Activation::gelu>;
    return {{"gelu", {operand({3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, gelu_op, of_gelu, {}},
            {"relu", {operand({3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, op<Activation::relu>, definition<Activation::relu>, {}},
            {"gated silu",
             {operand({3, 8}, 1), operand({5, 4}, 2), operand({5}, 3)},
             op<Activation::silu, true>,
             definition<Activation::silu, true>,
             {}},
            {"without bias", {operand({3, 4}, 1), operand({5, 4}, 2)}, gelu_op, of_gelu, {}},
            {"of rank 3", {operand({2, 3, 4}, 1), operand({5, 4}, 2), operand({5}, 3)}, gelu_op, of_gelu, {}},
            {"square", {operand({4, 4}, 1), operand({4, 4}, 2), operand({4}, 3)}, gelu_op, of_gelu, {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back({concat(s.m, " by ", s.n, " by ", s.k),
                         {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2), operand({s.n}, 3)},
                         op<Activation::gelu>,
                         {},
                         {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"inner sizes differ", [](Tape& t) { activated_linear({Activation::gelu}, some(t, {3, 4}), some(t, {5, 3})); }},
            {"gated, with the columns of a plain one",
             [](Tape& t) { activated_linear({Activation::silu, true}, some(t, {3, 4}), some(t, {5, 4})); }},
            {"a bias of x's width", [](Tape& t) { activated_linear({Activation::relu}, some(t, {3, 4}), some(t, {5, 4}), some(t, {4})); }}};
  }
};

/// The operands are x, weight, a, b, then `read` if kReads, and bias if it is there.
template <>
struct GradCase<Op::adapted_linear> {
  static constexpr double kScale = 1.5;

  template <bool kReads>
  static Tensor op(Tape&, std::span<const Tensor> t) {
    constexpr std::size_t kBias = kReads ? 5 : 4;
    return adapted_linear(t[0], t[1], {.a = t[2], .b = t[3], .scale = kScale, .read = kReads ? t[4] : Tensor{}},
                          t.size() > kBias ? t[kBias] : Tensor{});
  }
  template <bool kReads>
  static Tensor definition(Tape&, std::span<const Tensor> t) {
    constexpr std::size_t kBias = kReads ? 5 : 4;
    const Tensor low = scale(linear(t[kReads ? 4 : 0], t[2]), kScale);
    return add(linear(t[0], t[1], t.size() > kBias ? t[kBias] : Tensor{}), linear(low, t[3]));
  }
  static std::vector<Sample> samples() {
    const auto x = operand({3, 4}, 1), weight = operand({5, 4}, 2), a = operand({2, 4}, 3), b = operand({5, 2}, 4), bias = operand({5}, 5);
    return {{"with bias", {x, weight, a, b, bias}, op<false>, definition<false>, {}},
            {"without bias", {x, weight, a, b}, op<false>, definition<false>, {}},
            {"of another x", {x, weight, a, b, operand({3, 4}, 6), bias}, op<true>, definition<true>, {}},
            {"of rank 3", {operand({2, 3, 4}, 1), weight, operand({1, 4}, 3), operand({5, 1}, 4), bias}, op<false>, definition<false>, {}},
            {"square",
             {operand({4, 4}, 1), operand({4, 4}, 2), operand({4, 4}, 3), operand({4, 4}, 4), operand({4, 4}, 6), operand({4}, 5)},
             op<true>,
             definition<true>,
             {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (const Sizes& s : ragged_sizes()) {
      samples.push_back({concat(s.m, " by ", s.n, " by ", s.k),
                         {operand({s.m, s.k}, 1), operand({s.n, s.k}, 2), operand({3, s.k}, 3), operand({s.n, 3}, 4), operand({s.n}, 5)},
                         op<false>,
                         {},
                         {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](Shape read, Shape a, Shape b) {
      return [=](Tape& t) { adapted_linear(some(t, {3, 4}), some(t, {5, 4}), {.a = some(t, a), .b = some(t, b), .read = some(t, read)}); };
    };
    return {{"b of another width", of({3, 4}, {2, 4}, {4, 2})},
            {"b of another rank", of({3, 4}, {2, 4}, {5, 3})},
            {"a of another width", of({3, 4}, {2, 3}, {5, 2})},
            {"another x with other rows", of({2, 4}, {2, 4}, {5, 2})}};
  }
};

}  // namespace dikkat::gradcheck
