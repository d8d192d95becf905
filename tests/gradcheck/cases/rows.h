#pragma once

#include <cmath>

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/head_norm.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/value_embedding.h"
#include "tests/gradcheck/cases/elementwise.h"

// The cases of ops that work row by row: softmax, layer_norm, add_layer_norm, embedding, cross_entropy, linear_cross_entropy.
namespace dikkat::gradcheck {

/// x as a matrix.
inline Tensor flat(Tensor x) { return reshape(x, {x.shape().rows(), x.shape().cols()}); }
/// A matrix (rows, cols) whose elements are the sum of their row of x, times `factor`.
inline Tensor row_sums(Tape& tape, Tensor x, double factor = 1) {
  const index cols = x.shape().cols();
  return scale(matmul(x, ones(tape, x.dtype(), {cols, cols})), factor);
}

template <>
struct GradCase<Op::softmax> {
  static Tensor op(Tape&, std::span<const Tensor> t) { return softmax(t[0]); }
  static Tensor definition(Tape& tape, std::span<const Tensor> t) {
    const Tensor e = exp(flat(t[0]));
    return reshape(multiply(e, power(row_sums(tape, e), -1)), t[0].shape());
  }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1)}, op, definition, {}},
            {"a vector", {operand({17}, 1)}, op, definition, {}},
            {"of rank 3", {operand({2, 2, 5}, 1)}, op, definition, {}},
            {"along the first axis", {operand({3, 7}, 1)}, along(0), definition_along(0), {}},
            {"along a middle axis", {operand({2, 5, 3}, 1)}, along(1), definition_along(1), {}},
            {"along an axis of 1", {operand({2, 1, 3}, 1)}, along(-2), definition_along(1), {}}};
  }
  static Function along(int axis) {
    return [axis](Tape&, std::span<const Tensor> t) { return softmax(t[0], axis); };
  }
  /// The axis is exchanged with the last one.
  static Function definition_along(int axis) {
    return [axis](Tape& tape, std::span<const Tensor> t) {
      const Tensor exchanged = transpose(t[0], axis, -1);
      return transpose(definition(tape, std::span(&exchanged, 1)), axis, -1);
    };
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1, -6, 6)}, op, {}, {}});
      samples.push_back({concat(rows, " by ", cols, ", down"), {operand({rows, cols}, 1, -6, 6)}, along(0), {}, {}});
    }
    samples.push_back({"several tiles of columns", {operand({3, 70, 300}, 1, -6, 6)}, along(1), {}, {}});
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"of a scalar", [](Tape& t) { softmax(some(t, {})); }}, {"no such axis", [](Tape& t) { softmax(some(t, {2, 3}), 2); }}};
  }
};

template <>
struct GradCase<Op::layer_norm> {
  static Function op(double eps) {
    return [eps](Tape&, std::span<const Tensor> t) { return layer_norm(t[0], t[1], t.size() > 2 ? t[2] : Tensor{}, {.eps = eps}); };
  }
  static Function definition(double eps) {
    return [eps](Tape& tape, std::span<const Tensor> t) {
      const Tensor x = flat(t[0]);
      const double part = 1 / static_cast<double>(x.shape().cols());
      const Tensor d = add(x, row_sums(tape, x, -part));
      const Tensor variance = row_sums(tape, multiply(d, d), part);
      const Tensor rstd = power(add(variance, scale(ones(tape, x.dtype(), x.shape()), eps)), -0.5);
      const Tensor y = multiply(multiply(d, rstd), t[1]);
      return reshape(t.size() > 2 ? add(y, t[2]) : y, t[0].shape());
    };
  }
  static std::vector<Sample> samples() {
    return {{"with beta", {operand({3, 7}, 1), operand({7}, 2), operand({7}, 3)}, op(1e-5), definition(1e-5), {}},
            {"without beta", {operand({3, 7}, 1), operand({7}, 2)}, op(1e-5), definition(1e-5), {}},
            {"of rank 3, a large eps", {operand({2, 2, 5}, 1), operand({5}, 2), operand({5}, 3)}, op(0.5), definition(0.5), {}},
            {"a vector", {operand({9}, 1), operand({9}, 2), operand({9}, 3)}, op(1e-5), definition(1e-5), {}},
            {"off zero", {operand({3, 7}, 1, 9, 11), operand({7}, 2), operand({7}, 3)}, op(1e-5), definition(1e-5), {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      // One column has its own test (tests/kernels/layer_norm_test.cpp): there dx is zero, and its computed value is only rounding.
      const index cols = std::max<index>(2, kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]);
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1), operand({cols}, 2), operand({cols}, 3)}, op(1e-5), {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"gamma of another size", [](Tape& t) { layer_norm(some(t, {3, 5}), some(t, {4})); }},
            {"gamma of rank 2", [](Tape& t) { layer_norm(some(t, {3, 5}), some(t, {1, 5})); }},
            {"beta of another size", [](Tape& t) { layer_norm(some(t, {3, 5}), some(t, {5}), some(t, {3})); }}};
  }
};

template <>
struct GradCase<Op::add_layer_norm> {
  static DropoutOptions dropping(double p) { return {.probability = p, .stream = RandomStream(7, "branch", 3), .first = 5}; }
  /// How much of the sum and of the norm is part of the result. The sum may have no part (tests/ops/layer_norm_test.cpp has the other
  /// case).
  struct Mix {
    double sum, norm;
  };
  static Tensor mixed(Mix mix, Tensor sum, Tensor norm) {
    return mix.sum == 0 ? scale(norm, mix.norm) : add(scale(sum, mix.sum), scale(norm, mix.norm));
  }
  static Function op(Mix mix, double p, double eps = 1e-5) {
    return [=](Tape&, std::span<const Tensor> t) {
      const SumAndNorm made = add_layer_norm(t[0], t[1], t[2], t.size() > 3 ? t[3] : Tensor{}, dropping(p), {.eps = eps});
      return mixed(mix, made.sum, made.norm);
    };
  }
  static Function definition(Mix mix, double p, double eps = 1e-5) {
    return [=](Tape& tape, std::span<const Tensor> t) {
      const Tensor dropped = p == 0 ? t[1] : GradCase<Op::dropout>::definition(dropping(p))(tape, t.subspan(1, 1));
      const Tensor sum = add(t[0], dropped);
      std::vector<Tensor> operands(t.begin() + 1, t.end());
      operands[0] = sum;
      return mixed(mix, sum, GradCase<Op::layer_norm>::definition(eps)(tape, operands));
    };
  }
  static Sample sample(std::string name, Shape shape, bool beta, Mix mix, double p, double eps = 1e-5) {
    Sample s{std::move(name), {operand(shape, 1), operand(shape, 2), operand({shape.cols()}, 3)}, op(mix, p, eps), {}, {}};
    if (beta) {
      s.operands.push_back(operand({shape.cols()}, 4));
    }
    return s;
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    const auto add_sample = [&](std::string name, Shape shape, bool beta, Mix mix, double p, double eps = 1e-5) {
      samples.push_back(sample(std::move(name), shape, beta, mix, p, eps));
      samples.back().definition = definition(mix, p, eps);
    };
    add_sample("sum and norm", {3, 7}, true, {0.5, 2}, 0);
    add_sample("the norm alone, without beta", {3, 7}, false, {0, 1}, 0);
    add_sample("of rank 3 with dropout, a large eps", {2, 2, 5}, true, {-1, 1}, 0.25, 0.5);
    add_sample("the norm alone with dropout", {3, 7}, true, {0, 1}, 0.25);
    add_sample("a vector", {9}, true, {1, 1}, 0);
    return samples;
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = std::max<index>(2, kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]);
      samples.push_back(sample(concat(rows, " by ", cols), {rows, cols}, true, {1, 1}, i % 2 == 0 ? 0.1 : 0));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"branch of another shape", [](Tape& t) { add_layer_norm(some(t, {3, 5}), some(t, {5}), some(t, {5})); }},
            {"gamma of another size", [](Tape& t) { add_layer_norm(some(t, {3, 5}), some(t, {3, 5}), some(t, {4})); }},
            {"beta of another size", [](Tape& t) { add_layer_norm(some(t, {3, 5}), some(t, {3, 5}), some(t, {5}), some(t, {3})); }},
            {"dropout 1", [](Tape& t) { add_layer_norm(some(t, {3, 5}), some(t, {3, 5}), some(t, {5}), {}, {.probability = 1}); }}};
  }
};

template <>
struct GradCase<Op::rms_norm> {
  static Function op(double eps) {
    return [eps](Tape&, std::span<const Tensor> t) { return rms_norm(t[0], t[1], {.eps = eps}); };
  }
  static Function definition(double eps) {
    return [eps](Tape& tape, std::span<const Tensor> t) {
      const Tensor x = flat(t[0]);
      const Tensor square = row_sums(tape, multiply(x, x), 1 / static_cast<double>(x.shape().cols()));
      const Tensor rstd = power(add(square, scale(ones(tape, x.dtype(), x.shape()), eps)), -0.5);
      return reshape(multiply(multiply(x, rstd), t[1]), t[0].shape());
    };
  }
  static std::vector<Sample> samples() {
    return {{"a matrix", {operand({3, 7}, 1), operand({7}, 2)}, op(1e-5), definition(1e-5), {}},
            {"of rank 3, a large eps", {operand({2, 2, 5}, 1), operand({5}, 2)}, op(0.5), definition(0.5), {}},
            {"a vector", {operand({9}, 1), operand({9}, 2)}, op(1e-6), definition(1e-6), {}},
            {"off zero", {operand({3, 7}, 1, 9, 11), operand({7}, 2)}, op(1e-5), definition(1e-5), {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = std::max<index>(2, kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]);
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1), operand({cols}, 2)}, op(1e-5), {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"gamma of another size", [](Tape& t) { rms_norm(some(t, {3, 5}), some(t, {4})); }}};
  }
};

template <>
struct GradCase<Op::add_rms_norm> {
  using Mix = GradCase<Op::add_layer_norm>::Mix;
  static Sample sample(std::string name, Shape shape, Mix mix, double p, double eps = 1e-5) {
    const auto op = [=](Tape&, std::span<const Tensor> t) {
      const SumAndNorm made = add_rms_norm(t[0], t[1], t[2], GradCase<Op::add_layer_norm>::dropping(p), {.eps = eps});
      return GradCase<Op::add_layer_norm>::mixed(mix, made.sum, made.norm);
    };
    return {std::move(name), {operand(shape, 1), operand(shape, 2), operand({shape.cols()}, 3)}, op, {}, {}};
  }
  static Function definition(Mix mix, double p, double eps = 1e-5) {
    return [=](Tape& tape, std::span<const Tensor> t) {
      using Dropped = GradCase<Op::dropout>;
      const Tensor dropped = p == 0 ? t[1] : Dropped::definition(GradCase<Op::add_layer_norm>::dropping(p))(tape, t.subspan(1, 1));
      const Tensor sum = add(t[0], dropped);
      const Tensor operands[] = {sum, t[2]};
      return GradCase<Op::add_layer_norm>::mixed(mix, sum, GradCase<Op::rms_norm>::definition(eps)(tape, operands));
    };
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    const auto add_sample = [&](std::string name, Shape shape, Mix mix, double p, double eps = 1e-5) {
      samples.push_back(sample(std::move(name), shape, mix, p, eps));
      samples.back().definition = definition(mix, p, eps);
    };
    add_sample("sum and norm", {3, 7}, {0.5, 2}, 0);
    add_sample("the norm alone", {3, 7}, {0, 1}, 0);
    add_sample("of rank 3 with dropout, a large eps", {2, 2, 5}, {-1, 1}, 0.25, 0.5);
    return samples;
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = std::max<index>(2, kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]);
      samples.push_back(sample(concat(rows, " by ", cols), {rows, cols}, {1, 1}, i % 2 == 0 ? 0.1 : 0));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"branch of another shape", [](Tape& t) { add_rms_norm(some(t, {3, 5}), some(t, {5}), some(t, {5})); }},
            {"gamma of another size", [](Tape& t) { add_rms_norm(some(t, {3, 5}), some(t, {3, 5}), some(t, {4})); }},
            {"dropout 1", [](Tape& t) { add_rms_norm(some(t, {3, 5}), some(t, {3, 5}), some(t, {5}), {.probability = 1}); }}};
  }
};

template <>
struct GradCase<Op::head_norm> {
  struct Heads {
    index heads, key_heads, size, rest;
    double eps = 1e-5;
    index other_size = 0;  // of heads of keys; 0: as of queries
    index key_size() const { return other_size == 0 ? size : other_size; }
    index cols() const { return heads * size + key_heads * key_size() + rest; }
  };
  static Function op(Heads h) {
    return [h](Tape&, std::span<const Tensor> t) {
      return head_norm(t[0], t[1], t[2], {.heads = h.heads, .key_heads = h.key_heads, .eps = h.eps});
    };
  }
  /// Each head is a matrix, and its norm is rms_norm's.
  static Function definition(Heads h) {
    return [h](Tape&, std::span<const Tensor> t) {
      std::vector<Tensor> parts;
      for (index i = 0; i < h.heads; ++i) {
        parts.push_back(rms_norm(slice(t[0], -1, i * h.size, h.size), t[1], {.eps = h.eps}));
      }
      for (index i = 0; i < h.key_heads; ++i) {
        parts.push_back(rms_norm(slice(t[0], -1, h.heads * h.size + i * h.key_size(), h.key_size()), t[2], {.eps = h.eps}));
      }
      if (h.rest > 0) {
        parts.push_back(slice(t[0], -1, h.cols() - h.rest, h.rest));
      }
      return dikkat::concat(std::span<const Tensor>(parts), -1);
    };
  }
  static Sample sample(std::string name, Shape rows, Heads h) {
    const Shape shape = rows.rank() == 1 ? Shape{rows[0], h.cols()} : Shape{rows[0], rows[1], h.cols()};
    return {std::move(name), {operand(shape, 1), operand({h.size}, 2), operand({h.key_size()}, 3)}, op(h), {}, {}};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> all;
    const auto add_sample = [&](std::string name, Shape rows, Heads h) {
      all.push_back(sample(std::move(name), rows, h));
      all.back().definition = definition(h);
    };
    add_sample("as many keys as queries", {3}, {2, 2, 5, 10});
    add_sample("grouped, of rank 3", {2, 2}, {4, 2, 3, 6});
    add_sample("a large eps, no values", {3}, {1, 1, 7, 0, 0.5});
    add_sample("keys narrower than queries", {2, 2}, {1, 1, 8, 4, 1e-5, 4});
    return all;
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> all;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index size = std::max<index>(2, kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]);
      all.push_back(sample(concat(kRaggedSizes[i], " rows, heads of ", size), {kRaggedSizes[i]}, {2, 1, size, size}));
    }
    return all;
  }
  static std::vector<Misfit> misfits() {
    return {{"too few columns", [](Tape& t) { head_norm(some(t, {3, 7}), some(t, {4}), some(t, {4}), {}); }},
            {"a gamma of two axes", [](Tape& t) { head_norm(some(t, {3, 8}), some(t, {4}), some(t, {2, 2}), {}); }},
            {"gammas of two sizes, too few columns", [](Tape& t) { head_norm(some(t, {3, 6}), some(t, {4}), some(t, {3}), {}); }},
            {"no heads", [](Tape& t) { head_norm(some(t, {3, 8}), some(t, {4}), some(t, {4}), {.heads = 0}); }}};
  }
};

template <>
struct GradCase<Op::add_value_embedding> {
  struct Sizes {
    index before, heads, size, width, channels;
  };
  static Tensor op(Tape&, std::span<const Tensor> t) { return add_value_embedding(t[0], t[1], t[2], t[3]); }
  /// Head by head: the gate is a product of the first channels with one row, repeated over the head by a product with ones.
  static Function definition(Sizes s) {
    return [s](Tape& tape, std::span<const Tensor> t) {
      const DType dtype = t[0].dtype();
      const Tensor read = slice(t[1], -1, 0, s.channels);
      std::vector<Tensor> parts;
      if (s.before > 0) {
        parts.push_back(slice(t[0], -1, 0, s.before));
      }
      for (index h = 0; h < s.heads; ++h) {
        const Tensor gate = scale(sigmoid(linear(read, slice(t[3], 0, h, 1))), 2);  // (rows, 1)
        const Tensor spread = matmul(gate, ones(tape, dtype, {1, s.size}));
        const Tensor added = multiply(spread, slice(t[2], -1, h * s.size, s.size));
        parts.push_back(add(slice(t[0], -1, s.before + h * s.size, s.size), added));
      }
      return dikkat::concat(std::span<const Tensor>(parts), -1);
    };
  }
  static Sample sample(std::string name, index rows, Sizes s) {
    const index values = s.heads * s.size;
    return {std::move(name),
            {operand({rows, s.before + values}, 1), operand({rows, s.width}, 2), operand({rows, values}, 3),
             operand({s.heads, s.channels}, 4, -1, 1)},
            op,
            {},
            {}};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> all;
    const auto add_sample = [&](std::string name, index rows, Sizes s) {
      all.push_back(sample(std::move(name), rows, s));
      all.back().definition = definition(s);
    };
    add_sample("two heads of values", 3, {8, 2, 3, 7, 5});
    add_sample("all channels", 4, {5, 1, 4, 6, 6});
    add_sample("values alone, as wide as x", 3, {0, 2, 4, 8, 3});
    add_sample("more rows than a tile", 18, {3, 2, 2, 4, 2});
    return all;
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> all;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index size = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      all.push_back(
          sample(concat(kRaggedSizes[i], " rows, heads of ", size), kRaggedSizes[i], {2 * size, 2, size, size + 1, (size + 2) / 2}));
    }
    return all;
  }
  static std::vector<Misfit> misfits() {
    return {
        {"rows wider than qkv", [](Tape& t) { add_value_embedding(some(t, {3, 4}), some(t, {3, 8}), some(t, {3, 6}), some(t, {2, 5})); }},
        {"heads that do not divide the rows",
         [](Tape& t) { add_value_embedding(some(t, {3, 12}), some(t, {3, 8}), some(t, {3, 5}), some(t, {2, 5})); }},
        {"more channels than x", [](Tape& t) { add_value_embedding(some(t, {3, 12}), some(t, {3, 4}), some(t, {3, 6}), some(t, {2, 5})); }},
        {"a gate of rank 1", [](Tape& t) { add_value_embedding(some(t, {3, 12}), some(t, {3, 8}), some(t, {3, 6}), some(t, {5})); }},
        {"another number of rows",
         [](Tape& t) { add_value_embedding(some(t, {3, 12}), some(t, {4, 8}), some(t, {3, 6}), some(t, {2, 5})); }}};
  }
};

template <>
struct GradCase<Op::embedding> {
  /// Tokens that repeat, and leave some rows of the table unused.
  static std::vector<std::int32_t> tokens(index count, index vocabulary) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<std::int32_t>(static_cast<index>(i * i + i / 3) % vocabulary);
    }
    return all;
  }
  /// first: the position of each sequence's first token; empty: 0.
  static Sample sample(std::string name, index batch, index time, index vocabulary, index cols, index places,
                       const std::vector<std::int32_t>& first, double scale = 1) {
    const auto own = tokens(batch * time, vocabulary);
    Sample s{std::move(name), {operand({vocabulary, cols}, 1)}, {}, {}, {}};
    if (places > 0) {
      s.operands.push_back(operand({places, cols}, 2));
    }
    s.op = [=](Tape& tape, std::span<const Tensor> t) {
      return embedding(
          ids(tape, {batch, time}, own), t[0],
          {.positions = t.size() > 1 ? t[1] : Tensor{}, .first = first.empty() ? Tensor{} : ids(tape, {batch}, first), .scale = scale});
    };
    s.definition = [=](Tape& tape, std::span<const Tensor> t) {
      const index rows = batch * time;
      std::vector<double> token(static_cast<std::size_t>(rows * vocabulary));
      std::vector<double> place(static_cast<std::size_t>(rows * places));
      for (index i = 0; i < rows; ++i) {
        token[static_cast<std::size_t>(i * vocabulary + own[static_cast<std::size_t>(i)])] = scale;
        if (places > 0) {
          const index from = first.empty() ? 0 : first[static_cast<std::size_t>(i / time)];
          place[static_cast<std::size_t>(i * places + from + i % time)] = 1;
        }
      }
      Tensor y = matmul(constant(tape, t[0].dtype(), {rows, vocabulary}, token), t[0]);
      if (places > 0) {
        y = add(y, matmul(constant(tape, t[0].dtype(), {rows, places}, place), t[1]));
      }
      return reshape(y, {batch, time, cols});
    };
    return s;
  }
  static std::vector<Sample> samples() {
    return {sample("tokens alone", 2, 3, 7, 5, 0, {}),
            sample("with positions", 2, 3, 7, 5, 3, {}),
            sample("from a later position", 2, 3, 7, 5, 6, {2, 2}),
            sample("each from another position", 4, 3, 7, 5, 6, {3, 0, 1, 3}),
            sample("as many places as tokens", 3, 4, 6, 3, 6, {1, 1, 1}),
            sample("scaled tokens alone", 2, 3, 7, 5, 0, {}, -2.5),
            sample("scaled, with positions", 2, 3, 7, 5, 6, {2, 0}, std::sqrt(5.0))};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index cols = kRaggedSizes[i];
      const index time = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back(sample(concat(time, " by ", cols), 3, time, 129, cols, time + 2, {1, 0, 2}, i % 2 == 0 ? 1 : 11.3));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {
        {"a token too large", [](Tape& t) { embedding(ids(t, {1, 2}, {0, 7}), some(t, {7, 3})); }},
        {"a negative token", [](Tape& t) { embedding(ids(t, {1, 2}, {0, -1}), some(t, {7, 3})); }},
        {"tokens of rank 1", [](Tape& t) { embedding(ids(t, {2}, {0, 1}), some(t, {7, 3})); }},
        {"tokens of f32", [](Tape& t) { embedding(some(t, {1, 2}), some(t, {7, 3})); }},
        {"a table of rank 1", [](Tape& t) { embedding(ids(t, {1, 2}, {0, 1}), some(t, {7})); }},
        {"positions of another width", [](Tape& t) { embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), {.positions = some(t, {2, 4})}); }},
        {"past the last position",
         [](Tape& t) { embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), {.positions = some(t, {4, 3}), .first = ids(t, {1}, {3})}); }},
        {"a position that overflows",
         [](Tape& t) {
           embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), {.positions = some(t, {4, 3}), .first = ids(t, {1}, {INT32_MAX})});
         }},
        {"a negative position of the second sequence",
         [](Tape& t) {
           embedding(ids(t, {2, 1}, {0, 1}), some(t, {7, 3}), {.positions = some(t, {4, 3}), .first = ids(t, {2}, {0, -1})});
         }},
        {"fewer first positions than sequences",
         [](Tape& t) { embedding(ids(t, {2, 1}, {0, 1}), some(t, {7, 3}), {.positions = some(t, {4, 3}), .first = ids(t, {1}, {0})}); }},
        {"first positions of f32",
         [](Tape& t) { embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), {.positions = some(t, {4, 3}), .first = some(t, {1})}); }}};
  }
};

/// Targets of cross-entropy, and their weights: 1 each, or with zeros among them, whose targets are garbage.
struct Labels {
  Labels(index count, index classes, bool with_weights)
      : targets(static_cast<std::size_t>(count)), weights(static_cast<std::size_t>(count), 1.0F), weighted(with_weights) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<std::int32_t>(static_cast<index>(i * i + 1) % classes);
      if (weighted) {
        weights[i] = static_cast<float>(i % 3) * 0.75F;
        targets[i] = i % 3 == 0 ? (i % 2 == 0 ? -5 : 1 << 30) : targets[i];
      }
    }
  }
  index rows() const { return static_cast<index>(targets.size()); }
  Tensor targets_on(Tape& tape) const { return ids(tape, {rows()}, targets); }
  Tensor weights_on(Tape& tape) const { return weighted ? tape.input<float>({rows()}, weights) : Tensor{}; }

  std::vector<std::int32_t> targets;
  std::vector<float> weights;
  bool weighted;
};

template <>
struct GradCase<Op::cross_entropy> {
  static Sample sample(std::string name, Shape shape, bool weighted, std::optional<double> normalizer, double smoothing = 0) {
    const index rows = shape.rows();
    const index cols = shape.cols();
    const Labels labels(rows, cols, weighted);
    Sample s{std::move(name), {operand(shape, 1, -4, 4)}, {}, {}, {}};
    s.op = [=](Tape& tape, std::span<const Tensor> t) {
      return cross_entropy(t[0], labels.targets_on(tape),
                           {.weights = labels.weights_on(tape), .normalizer = normalizer, .label_smoothing = smoothing});
    };
    s.definition = [=](Tape& tape, std::span<const Tensor> t) {
      const Tensor x = flat(t[0]);
      std::vector<double> picked(static_cast<std::size_t>(rows * cols), -smoothing / static_cast<double>(cols));
      std::vector<double> factor(static_cast<std::size_t>(rows));
      for (std::size_t i = 0; i < factor.size(); ++i) {
        factor[i] = static_cast<double>(labels.weights[i]) / normalizer.value_or(static_cast<double>(rows));
        if (labels.weights[i] != 0) {
          picked[i * static_cast<std::size_t>(cols) + static_cast<std::size_t>(labels.targets[i])] -= 1 - smoothing;
        }
      }
      const Tensor column = ones(tape, x.dtype(), {cols, 1});
      const Tensor log_sum = log(matmul(exp(x), column));
      const Tensor target = matmul(multiply(x, constant(tape, x.dtype(), x.shape(), picked)), column);
      return sum(multiply(add(log_sum, target), constant(tape, x.dtype(), {rows, 1}, factor)));
    };
    return s;
  }
  static std::vector<Sample> samples() {
    return {sample("plain", {4, 7}, false, {}),
            sample("weighted", {7, 5}, true, {}),
            sample("of rank 3 with a normalizer", {2, 3, 5}, false, 4.5),
            sample("weighted with a normalizer", {2, 3, 5}, true, 11),
            sample("one class", {3, 1}, false, {}),
            sample("smoothed", {4, 7}, false, {}, 0.1),
            sample("smoothed and weighted with a normalizer", {2, 3, 5}, true, 11, 0.6)};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back(sample(concat(rows, " by ", cols), {rows, cols}, i % 2 == 0, {}, i % 3 == 1 ? 0.1 : 0));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    const auto smoothed = [](double share) {
      return [share](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {.label_smoothing = share}); };
    };
    return {{"a target too large", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 3})); }},
            {"a negative target", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, -1})); }},
            {"a bad target of another weight than 0",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {-1, 3}), {.weights = t.input<float>({2}, std::vector<float>{0, 0.5F})});
             }},
            {"too few targets", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {1}, {0})); }},
            {"targets of f32", [](Tape& t) { cross_entropy(some(t, {2, 3}), some(t, {2})); }},
            {"too many weights", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {.weights = some(t, {3})}); }},
            {"weights of i32", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {.weights = ids(t, {2}, {1, 1})}); }},
            {"normalizer 0", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {.normalizer = 0}); }},
            {"normalizer NaN", [](Tape& t) { cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {.normalizer = std::nan("")}); }},
            {"label smoothing 1", smoothed(1)},
            {"negative label smoothing", smoothed(-0.1)},
            {"label smoothing NaN", smoothed(std::nan(""))},
            {"a scalar", [](Tape& t) { cross_entropy(some(t, {}), ids(t, {1}, {0})); }}};
  }
};

template <>
struct GradCase<Op::linear_cross_entropy> {
  struct How {
    bool weighted = false;
    std::optional<double> normalizer{};
    double smoothing = 0;
    index logits_at_once = 1;  // chunks of 96 rows, the fewest
    double softcap = 0;
    bool with_signs = false;  // some weights are negative
  };
  /// A teacher that names every second class, from the first or the second on. Some rows give the tail nothing.
  struct Distributions {
    Distributions(index rows, index classes) : top(classes / 2), count(rows) {
      for (index row = 0; row < rows; ++row) {
        float sum = 0;
        for (index j = 0; j <= top; ++j) {
          const float one = j == top && row % 5 == 4 ? 0 : static_cast<float>(1 + (7 * row + 3 * j) % 5);
          probabilities.push_back(one);
          sum += one;
        }
        for (index j = 0; j <= top; ++j) {
          probabilities[probabilities.size() - 1 - static_cast<std::size_t>(j)] /= sum;
        }
        for (index j = 0; j < top; ++j) {
          ids.push_back(static_cast<std::int32_t>(2 * j + (2 * top < classes || j + 1 < top ? row % 2 : 0)));
        }
      }
    }
    Teacher on(Tape& tape, double share, double temperature) const {
      return {.ids = tape.input<std::int32_t>({count, top}, ids),
              .probabilities = tape.input<float>({count, top + 1}, probabilities),
              .share = share,
              .temperature = temperature};
    }

    index top, count;  // the rows
    std::vector<std::int32_t> ids;
    std::vector<float> probabilities;
  };
  /// With a teacher. The definition has all logits, and the tail as a sum over a mask.
  static Sample taught(std::string name, Shape shape, index classes, const How& how, double share, double temperature) {
    Sample s = sample(std::move(name), shape, classes, how);
    const Labels labels(shape.rows(), classes, how.weighted);
    const Distributions teacher(shape.rows(), classes);
    s.op = [=](Tape& tape, std::span<const Tensor> t) {
      return linear_cross_entropy(t[0], t[1], labels.targets_on(tape),
                                  {.weights = labels.weights_on(tape),
                                   .normalizer = how.normalizer,
                                   .softcap = how.softcap,
                                   .teacher = teacher.on(tape, share, temperature)},
                                  how.logits_at_once);
    };
    s.definition = [=](Tape& tape, std::span<const Tensor> t) {
      // The bins: the weights of log q of each named class, and which classes are in the tail.
      const index rows = shape.rows();
      const auto at = [](index i) { return static_cast<std::size_t>(i); };
      std::vector<double> of_named(at(rows * classes), 0), in_tail(at(rows * classes), 1), of_tail;
      for (index row = 0; row < rows; ++row) {
        const auto weight = static_cast<double>(labels.weights[at(row)]);
        for (index j = 0; j < teacher.top; ++j) {
          const auto place = at(row * classes + teacher.ids[at(row * teacher.top + j)]);
          of_named[place] = -weight * static_cast<double>(teacher.probabilities[at(row * (teacher.top + 1) + j)]);
          in_tail[place] = 0;
        }
        of_tail.push_back(-weight * static_cast<double>(teacher.probabilities[at(row * (teacher.top + 1) + teacher.top)]));
      }
      // Both losses.
      const DType dtype = t[0].dtype();
      const Tensor product = linear(t[0], t[1]);
      const Tensor logits = how.softcap == 0 ? product : scale(tanh(scale(product, 1 / how.softcap)), how.softcap);
      const Tensor e = exp(scale(logits, 1 / temperature));
      const Tensor q = multiply(e, power(row_sums(tape, e), -1));
      const Tensor q_tail = matmul(multiply(q, constant(tape, dtype, {rows, classes}, in_tail)), ones(tape, dtype, {classes, 1}));
      const Tensor taught = add(sum(multiply(constant(tape, dtype, {rows, classes}, of_named), log(q))),
                                sum(multiply(constant(tape, dtype, {rows, 1}, of_tail), log(q_tail))));
      const double normalizer = how.normalizer.value_or(static_cast<double>(rows));
      const Tensor ordinary =
          cross_entropy(logits, labels.targets_on(tape), {.weights = labels.weights_on(tape), .normalizer = how.normalizer});
      return add(scale(ordinary, 1 - share), scale(taught, share * temperature * temperature / normalizer));
    };
    return s;
  }
  static Sample sample(std::string name, Shape shape, index classes, const How& how) {
    Labels labels(shape.rows(), classes, how.weighted);
    for (std::size_t i = 2; how.with_signs && i < labels.weights.size(); i += 3) {
      labels.weights[i] = -labels.weights[i];
    }
    const auto options = [=](Tape& tape) {
      return CrossEntropyOptions{.weights = labels.weights_on(tape), .normalizer = how.normalizer, .label_smoothing = how.smoothing};
    };
    Sample s{std::move(name), {operand(shape, 1), operand({classes, shape.cols()}, 2)}, {}, {}, {}};
    s.op = [=](Tape& tape, std::span<const Tensor> t) {
      auto capped = options(tape);
      capped.softcap = how.softcap;
      return linear_cross_entropy(t[0], t[1], labels.targets_on(tape), capped, how.logits_at_once);
    };
    s.definition = [=](Tape& tape, std::span<const Tensor> t) {
      const Tensor logits = how.softcap == 0 ? linear(t[0], t[1]) : scale(tanh(scale(linear(t[0], t[1]), 1 / how.softcap)), how.softcap);
      return cross_entropy(logits, labels.targets_on(tape), options(tape));
    };
    return s;
  }
  static std::vector<Sample> samples() {
    return {
        sample("one chunk", {7, 3}, 5, {}),
        sample("as the two ops", {7, 3}, 5, {.logits_at_once = 35}),
        sample("three chunks", {205, 2}, 3, {}),
        sample("two chunks of whole vectors", {192, 1}, 4, {}),
        sample("weighted with a normalizer, two chunks", {100, 2}, 3, {.weighted = true, .normalizer = 11}),
        sample("weighted, two chunks of scored rows of three", {210, 2}, 3, {.weighted = true}),
        sample("of rank 3 and smoothed, two chunks", {2, 49, 2}, 4, {.smoothing = 0.1}),
        sample("smoothed and weighted, two tiles of classes", {5, 2}, 150, {.weighted = true, .normalizer = 4.5, .smoothing = 0.6}),
        sample("capped, two chunks", {100, 2}, 5, {.softcap = 1.5}),
        sample("capped, smoothed and weighted", {5, 2}, 150, {.weighted = true, .smoothing = 0.3, .softcap = 3}),
        sample("capped, as the ops", {7, 3}, 5, {.logits_at_once = 35, .softcap = 2}),
        sample("weights of both signs, two chunks of scored rows", {210, 2}, 3, {.weighted = true, .normalizer = 7, .with_signs = true}),
        sample("weights of both signs, capped, two tiles of classes", {5, 2}, 150,
               {.weighted = true, .normalizer = 2, .softcap = 3, .with_signs = true}),
        taught("a teacher", {7, 3}, 5, {}, 0.4, 1),
        taught("a teacher only, at a temperature", {7, 3}, 6, {}, 1, 2),
        taught("a teacher, weighted, two chunks of scored rows", {210, 2}, 3, {.weighted = true}, 0.5, 1.5),
        taught("a teacher, capped, two tiles of classes", {5, 2}, 150, {.weighted = true, .normalizer = 2, .softcap = 3}, 0.3, 0.8),
        sample("one class", {3, 2}, 1, {}),
        sample("x of the weight's shape, two chunks", {98, 2}, 98, {})};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index classes = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      const index cols = kRaggedSizes[(5 * i + 1) % std::size(kRaggedSizes)];
      samples.push_back(sample(concat(rows, " by ", cols, " by ", classes), {rows, cols}, classes,
                               {.weighted = i % 2 == 0, .smoothing = i % 3 == 1 ? 0.1 : 0}));
    }
    samples.push_back(sample("several panels of classes", {100, 3}, 4500, {.smoothing = 0.1}));
    samples.push_back(sample("several panels of classes, capped", {100, 3}, 4500, {.softcap = 5}));
    samples.push_back(taught("several panels of classes, a teacher", {100, 3}, 4500, {}, 0.5, 2));
    return samples;
  }
  static std::vector<Misfit> misfits() {
    const auto of = [](const CrossEntropyOptions& options) {
      return [options](Tape& t) { linear_cross_entropy(some(t, {2, 4}), some(t, {3, 4}), ids(t, {2}, {0, 1}), options); };
    };
    return {{"a weight of another width", [](Tape& t) { linear_cross_entropy(some(t, {2, 4}), some(t, {3, 5}), ids(t, {2}, {0, 1})); }},
            {"a weight of rank 1", [](Tape& t) { linear_cross_entropy(some(t, {2, 4}), some(t, {4}), ids(t, {2}, {0, 1})); }},
            {"x a scalar", [](Tape& t) { linear_cross_entropy(some(t, {}), some(t, {3, 1}), ids(t, {1}, {0})); }},
            {"a target too large", [](Tape& t) { linear_cross_entropy(some(t, {2, 4}), some(t, {3, 4}), ids(t, {2}, {0, 3})); }},
            {"too few targets", [](Tape& t) { linear_cross_entropy(some(t, {2, 4}), some(t, {3, 4}), ids(t, {1}, {0})); }},
            {"too many weights",
             [](Tape& t) { linear_cross_entropy(some(t, {2, 4}), some(t, {3, 4}), ids(t, {2}, {0, 1}), {.weights = some(t, {3})}); }},
            {"normalizer 0", of({.normalizer = 0})},
            {"label smoothing 1", of({.label_smoothing = 1})},
            {"a negative softcap", of({.softcap = -1})},
            {"a softcap too large", of({.softcap = 41})},
            {"a teacher with label smoothing", of_teacher({0, 2, 1, 2}, 0.5, 1, 0.1)},
            {"a teacher that names a class twice", of_teacher({0, 0, 1, 2}, 0.5, 1)},
            {"a teacher that names no class", of_teacher({0, 3, 1, 2}, 0.5, 1)},
            {"a teacher without a tail", of_teacher({0, 1, 2, 0, 1, 2}, 0.5, 1)},
            {"a teacher's share above 1", of_teacher({0, 2, 1, 2}, 1.5, 1)},
            {"temperature 0", of_teacher({0, 2, 1, 2}, 0.5, 0)},
            {"a temperature too high", of_teacher({0, 2, 1, 2}, 0.5, 11)},
            {"a teacher without probabilities", [](Tape& t) {
               linear_cross_entropy(some(t, {2, 4}), some(t, {3, 4}), ids(t, {2}, {0, 1}), {.teacher = {.ids = ids(t, {2, 1}, {0, 1})}});
             }}};
  }
  static std::function<void(Tape&)> of_teacher(std::vector<std::int32_t> named, double share, double temperature, double smoothing = 0) {
    return [=](Tape& t) {
      const index top = std::ssize(named) / 2;
      const std::vector<float> probabilities(static_cast<std::size_t>(2 * (top + 1)), 0.25F);
      linear_cross_entropy(some(t, {2, 4}), some(t, {3, 4}), ids(t, {2}, {0, 1}),
                           {.label_smoothing = smoothing,
                            .teacher = {.ids = t.input<std::int32_t>({2, top}, named),
                                        .probabilities = t.input<float>({2, top + 1}, probabilities),
                                        .share = share,
                                        .temperature = temperature}});
    };
  }
};

}  // namespace dikkat::gradcheck
