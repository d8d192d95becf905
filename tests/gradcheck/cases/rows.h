#pragma once

#include <cmath>

#include "autograd/ops/basic.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/loss.h"
#include "tests/gradcheck/case.h"

// Ops that work row by row: softmax, layer_norm, embedding, cross_entropy.
namespace dikkat::gradcheck {

/// x as a matrix.
inline Tensor flat(Tensor x) { return reshape(x, {x.shape().rows(), x.shape().cols()}); }
/// In every place of a row of x (rows, cols): the sum of that row, times `factor`.
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
            {"of rank 3", {operand({2, 2, 5}, 1)}, op, definition, {}}};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1, -6, 6)}, op, {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"of a scalar", [](Tape& t) { softmax(some(t, {})); }}};
  }
};

template <>
struct GradCase<Op::layer_norm> {
  static Function op(double eps) {
    return [eps](Tape&, std::span<const Tensor> t) { return layer_norm(t[0], t[1], t.size() > 2 ? t[2] : Tensor{}, eps); };
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
      // One column has a test of its own (tests/kernels/layer_norm_test.cpp): dx is zero in truth, and all of it is rounding.
      const index cols = std::max<index>(2, kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]);
      samples.push_back({concat(rows, " by ", cols), {operand({rows, cols}, 1), operand({cols}, 2), operand({cols}, 3)}, op(1e-5), {}, {}});
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"gamma of another size",
             [](Tape& t) {
               layer_norm(some(t, {3, 5}), some(t, {4}));
             }},
            {"gamma of rank 2",
             [](Tape& t) {
               layer_norm(some(t, {3, 5}), some(t, {1, 5}));
             }},
            {"beta of another size", [](Tape& t) {
               layer_norm(some(t, {3, 5}), some(t, {5}), some(t, {3}));
             }}};
  }
};

template <>
struct GradCase<Op::embedding> {
  /// Tokens that repeat, and leave some rows of the table untouched.
  static std::vector<std::int32_t> tokens(index count, index vocabulary) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<std::int32_t>(static_cast<index>(i * i + i / 3) % vocabulary);
    }
    return all;
  }
  static Sample sample(std::string name, index batch, index time, index vocabulary, index cols, index places, index first_position) {
    const auto own = tokens(batch * time, vocabulary);
    Sample s{std::move(name), {operand({vocabulary, cols}, 1)}, {}, {}, {}};
    if (places > 0) {
      s.operands.push_back(operand({places, cols}, 2));
    }
    s.op = [=](Tape& tape, std::span<const Tensor> t) {
      return embedding(ids(tape, {batch, time}, own), t[0], t.size() > 1 ? t[1] : Tensor{}, first_position);
    };
    s.definition = [=](Tape& tape, std::span<const Tensor> t) {
      const index rows = batch * time;
      std::vector<double> token(static_cast<std::size_t>(rows * vocabulary));
      std::vector<double> place(static_cast<std::size_t>(rows * places));
      for (index i = 0; i < rows; ++i) {
        token[static_cast<std::size_t>(i * vocabulary + own[static_cast<std::size_t>(i)])] = 1;
        if (places > 0) {
          place[static_cast<std::size_t>(i * places + first_position + i % time)] = 1;
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
    return {sample("tokens alone", 2, 3, 7, 5, 0, 0), sample("with positions", 2, 3, 7, 5, 3, 0),
            sample("from a later position", 2, 3, 7, 5, 6, 2), sample("as many places as tokens", 3, 4, 6, 3, 6, 1)};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index cols = kRaggedSizes[i];
      const index time = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back(sample(concat(time, " by ", cols), 3, time, 129, cols, time + 2, 1));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"a token too large",
             [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, 7}), some(t, {7, 3}));
             }},
            {"a negative token",
             [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, -1}), some(t, {7, 3}));
             }},
            {"tokens of rank 1",
             [](Tape& t) {
               embedding(ids(t, {2}, {0, 1}), some(t, {7, 3}));
             }},
            {"tokens of f32",
             [](Tape& t) {
               embedding(some(t, {1, 2}), some(t, {7, 3}));
             }},
            {"a table of rank 1",
             [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, 1}), some(t, {7}));
             }},
            {"positions of another width",
             [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), some(t, {2, 4}));
             }},
            {"past the last position",
             [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), some(t, {4, 3}), 3);
             }},
            {"a position that overflows",
             [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), some(t, {4, 3}), INT64_MAX);
             }},
            {"a negative position", [](Tape& t) {
               embedding(ids(t, {1, 2}, {0, 1}), some(t, {7, 3}), some(t, {4, 3}), -1);
             }}};
  }
};

template <>
struct GradCase<Op::cross_entropy> {
  /// Weights with zeros among them, where the target is garbage.
  static Sample sample(std::string name, Shape shape, bool weighted, std::optional<double> normaliser) {
    const index rows = shape.rows();
    const index cols = shape.cols();
    std::vector<std::int32_t> targets(static_cast<std::size_t>(rows));
    std::vector<float> weights(static_cast<std::size_t>(rows), 1.0F);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i] = static_cast<std::int32_t>(static_cast<index>(i * i + 1) % cols);
      if (weighted) {
        weights[i] = static_cast<float>(i % 3) * 0.75F;
        targets[i] = i % 3 == 0 ? (i % 2 == 0 ? -5 : 1 << 30) : targets[i];
      }
    }
    Sample s{std::move(name), {operand(shape, 1, -4, 4)}, {}, {}, {}};
    s.op = [=](Tape& tape, std::span<const Tensor> t) {
      return cross_entropy(t[0], ids(tape, {rows}, targets), weighted ? tape.input<float>({rows}, weights) : Tensor{}, normaliser);
    };
    s.definition = [=](Tape& tape, std::span<const Tensor> t) {
      const Tensor x = flat(t[0]);
      std::vector<double> picked(static_cast<std::size_t>(rows * cols));
      std::vector<double> factor(static_cast<std::size_t>(rows));
      for (std::size_t i = 0; i < factor.size(); ++i) {
        factor[i] = static_cast<double>(weights[i]) / normaliser.value_or(static_cast<double>(rows));
        if (weights[i] != 0) {
          picked[i * static_cast<std::size_t>(cols) + static_cast<std::size_t>(targets[i])] = -1;
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
    return {sample("plain", {4, 7}, false, {}), sample("weighted", {7, 5}, true, {}),
            sample("of rank 3 with a normaliser", {2, 3, 5}, false, 4.5), sample("weighted with a normaliser", {2, 3, 5}, true, 11),
            sample("one class", {3, 1}, false, {})};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples;
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      const index rows = kRaggedSizes[i];
      const index cols = kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)];
      samples.push_back(sample(concat(rows, " by ", cols), {rows, cols}, i % 2 == 0, {}));
    }
    return samples;
  }
  static std::vector<Misfit> misfits() {
    return {{"a target too large",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 3}));
             }},
            {"a negative target",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, -1}));
             }},
            {"a bad target of another weight than 0",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {-1, 3}), t.input<float>({2}, std::vector<float>{0, 0.5F}));
             }},
            {"too few targets",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {1}, {0}));
             }},
            {"targets of f32",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), some(t, {2}));
             }},
            {"too many weights",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), some(t, {3}));
             }},
            {"weights of i32",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), ids(t, {2}, {1, 1}));
             }},
            {"normaliser 0",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {}, 0);
             }},
            {"normaliser NaN",
             [](Tape& t) {
               cross_entropy(some(t, {2, 3}), ids(t, {2}, {0, 1}), {}, std::nan(""));
             }},
            {"a scalar", [](Tape& t) { cross_entropy(some(t, {}), ids(t, {1}, {0})); }}};
  }
};

}  // namespace dikkat::gradcheck
