#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

constexpr index kTile = 1 << 13;  // elements: enough to be worth a task, and few enough for the second cache

/// A formula of two tensors of one shape, as the backward closure keeps it.
struct Terms {
  Tensor x, target;
  const detail::FormulaLoops* loops;  // in the type that elements are computed in
  const void* formula;
  double factor;  // factor of the terms' sum
};

/// Memory for a tile: the terms or their gradients and, for bf16, operands or their gradients in f32.
template <class T>
class Tile {
  using C = Computed<T>;
  static constexpr index kCopies = std::is_same_v<T, C> ? 0 : 4;

 public:
  C* terms() const { return memory_; }
  /// Returns the operand's elements, starting at `begin`, as C. Copy `which` holds them.
  const C* read(const T* from, index count, index which) const {
    if constexpr (std::is_same_v<T, C>) {
      return from;
    } else {
      kernels::convert<T, C>(count, from, {copy(which)});
      return copy(which);
    }
  }
  C* copy(index which) const { return memory_ + (which + 1) * kTile; }

 private:
  Scratch<C> memory_{(1 + kCopies) * kTile};
};

/// Calls f(begin, count, tile's memory) for the tiles of n elements.
template <class T, class F>
void for_tiles(index n, F&& f) {
  parallel_for(
      ceil_div(n, kTile), Work::elements(n),
      [] {
        const Tile<T> own;
        const Scratch<double> of_a_sum(1);
      },
      [&](index i) {
        const Tile<T> tile;
        f(i * kTile, std::min(kTile, n - i * kTile), tile);
      });
}

/// Returns factor * the sum of all terms. The terms of a tile are added in f64, and the tiles in their order.
template <class T>
Computed<T> sum_terms(const Terms& p) {
  using C = Computed<T>;
  const index n = p.x.size();
  const Scratch<double> partial(ceil_div(n, kTile));
  for_tiles<T>(n, [&](index begin, index count, const Tile<T>& tile) {
    const std::array<const void*, 2> x{tile.read(p.x.data<T>() + begin, count, 0), tile.read(p.target.data<T>() + begin, count, 1)};
    const std::array<index, 2> steps{1, 1};
    p.loops->forward(p.formula, {.x = x.data(), .steps = steps.data(), .y = tile.terms(), .count = count, .add = false});
    partial[begin / kTile] = static_cast<double>(kernels::sum<C>(count, tile.terms()));
  });
  double total = 0;
  for (index i = 0; i < ceil_div(n, kTile); ++i) {
    total += partial[i];
  }
  return static_cast<C>(p.factor * total);
}

/// Writes the gradients by x and by the target, where the sum's derivative is `dy`.
template <class T>
void differentiate(const Terms& p, Computed<T> dy, const std::array<GradOut<T>, 2>& dx) {
  using C = Computed<T>;
  for_tiles<T>(p.x.size(), [&](index begin, index count, const Tile<T>& tile) {
    std::fill_n(tile.terms(), count, static_cast<C>(p.factor) * dy);
    const std::array<const void*, 2> x{tile.read(p.x.data<T>() + begin, count, 0), tile.read(p.target.data<T>() + begin, count, 1)};
    const std::array<index, 2> steps{1, 1};
    std::array<void*, 2> to{};
    std::array<detail::RowGradient, 2> kinds{};
    for (std::size_t i = 0; i < 2; ++i) {
      if (dx[i]) {
        kinds[i] = dx[i].add ? detail::RowGradient::add : detail::RowGradient::overwrite;
        to[i] = dx[i].data + begin;
        if constexpr (!std::is_same_v<T, C>) {
          kinds[i] = detail::RowGradient::overwrite;
          to[i] = tile.copy(2 + static_cast<index>(i));
        }
      }
    }
    p.loops->backward(p.formula,
                      {.x = x.data(), .steps = steps.data(), .dy = tile.terms(), .dx = to.data(), .kinds = kinds.data(), .count = count});
    if constexpr (!std::is_same_v<T, C>) {
      for (std::size_t i = 0; i < 2; ++i) {
        if (dx[i]) {
          kernels::convert<C, T>(count, static_cast<const C*>(to[i]), {dx[i].data + begin, dx[i].add});
        }
      }
    }
  });
}

/// Returns the number that the sum of a loss's terms is multiplied by.
double factor_of(Op op, Reduction reduction, const Shape& shape) {
  switch (reduction) {
    case Reduction::mean:
      require(shape.size() > 0, op, ": x is ", shape, ", expected one element or more");
      return 1 / static_cast<double>(shape.size());
    case Reduction::batch_mean:
      require(shape.rank() > 0 && shape[0] > 0, op, ": x is ", shape, ", expected a first axis of 1 or more");
      return 1 / static_cast<double>(shape[0]);
    case Reduction::sum:
    case Reduction::none: break;
  }
  return 1;
}

template <class F>
Tensor loss_of(Op op, const F& f, Tensor x, Tensor target, Reduction reduction) {
  const detail::Formula formula = detail::formula_of<2>(f);
  const std::array operands{x, target};
  require(x.shape() == target.shape(), op, ": x is ", x.shape(), " and the target ", target.shape(), ", expected equal shapes");
  if (reduction == Reduction::none) {
    return detail::elementwise(name_of(op), operands, formula);
  }
  return for_stored(x.dtype(), name_of(op), [&](auto zero) {
    using T = decltype(zero);
    using C = Computed<T>;
    Tape& tape = begin_op(op, operands);
    Terms terms{
        .x = x, .target = target, .loops = &formula.loops<C>(), .formula = formula.object, .factor = factor_of(op, reduction, x.shape())};
    const Tensor y = tape.make(Shape{}, kDType<C>);
    *y.mutable_data<C>() = sum_terms<T>(terms);
    // Keep the formula with the tape.
    auto* const object = tape.save<std::max_align_t>(ceil_div(static_cast<index>(formula.bytes), index{sizeof(std::max_align_t)}));
    std::memcpy(object, formula.object, formula.bytes);
    terms.formula = object;
    tape.record({x, target}, {y}, cost_of({x, target}, {y}), [=](Gradients& g) {
      const GradOut<T> dx = g.into<T>(terms.x), dtarget = g.into<T>(terms.target);
      differentiate<T>(terms, *g.of<C>(y), {dx, dtarget});
    });
    return y;
  });
}

}  // namespace

Tensor mse_loss(Tensor x, Tensor target, Reduction reduction) {
  return loss_of(
      Op::mse_loss,
      [](auto a, auto b) {
        const auto difference = a - b;
        return difference * difference;
      },
      x, target, reduction);
}

Tensor huber_loss(Tensor x, Tensor target, double delta, Reduction reduction) {
  require(delta > 0, "huber_loss: delta ", delta, ", expected more than 0");
  return loss_of(
      Op::huber_loss,
      [delta](auto a, auto b) {
        const auto difference = a - b;
        const auto size = abs(difference);
        // NaN takes the square, whose slope is NaN, too.
        return where(size > delta, delta * (size - 0.5 * delta), 0.5 * difference * difference);
      },
      x, target, reduction);
}

Tensor binary_cross_entropy(Tensor logits, Tensor targets, Reduction reduction) {
  // log(1 + e^x) - x t. For targets near 1 it is log(1 + e^-x) + x (1 - t), where digits would cancel otherwise. For an infinite x it is
  // its limit, x (1 - t) or -x t, of which a target of 1 or 0 leaves nothing.
  constexpr auto kTerm = [](auto x, auto t) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto is_near_one = t > 0.5;
    const auto term = softplus(where(is_near_one, -x, x)) + where(is_near_one, x * (1 - t), -x * t);
    return where(x == kInfinity, weighted(x, 1 - t), where(x == -kInfinity, weighted(-x, t), term));
  };
  return loss_of(Op::binary_cross_entropy, kTerm, logits, targets, reduction);
}

Tensor kl_divergence(Tensor log_probabilities, Tensor targets, Reduction reduction) {
  return loss_of(
      Op::kl_divergence, [](auto x, auto p) { return where(p == 0, 0, p * (log(p) - x)); }, log_probabilities, targets, reduction);
}

}  // namespace dikkat
