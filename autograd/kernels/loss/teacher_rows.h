#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/kernels/loss/teacher_targets.h"
#include "autograd/simd/exp.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

/// The part of linear_cross_entropy() that concerns a teacher. Logits are transposed, as there: (classes, rows), in tiles of classes. The
/// sum over the tail is taken without the named classes, so that it keeps its digits when these have nearly all of the probability.
template <class T>
class TeacherRows {
 public:
  /// Returns the elements of `work`.
  static index work(const TeacherTargets& teacher, index tiles, index rows) {
    return teacher.top == 0 ? 0 : (2 * tiles + teacher.top + 3) * rows;
  }
  TeacherRows(const TeacherTargets& teacher, T* work, index tiles, index rows, index apart)
      : teacher_(teacher),
        tiles_(tiles),
        rows_(rows),
        apart_(apart),
        warmth_(static_cast<T>(1 / teacher.temperature)),
        tail_tops_(work),
        tail_sums_(tail_tops_ + tiles * rows),
        named_(tail_sums_ + tiles * rows),
        log_sums_(named_ + teacher.top * rows),
        tail_factors_(log_sums_ + rows),
        masses_(tail_factors_ + rows) {}

  bool any() const { return teacher_.top > 0; }
  /// Returns the part of the ordinary cost.
  T rest() const { return any() ? static_cast<T>(1 - teacher_.share) : T(1); }
  bool is_warm() const { return any() && teacher_.temperature != 1; }

  /// Keeps the logits of the named classes of a tile that begins at class `first`, and sums e^(logit / temperature) over its others.
  void add_tile(index tile, index first, T* logits, index count, index begin, index end) {
    constexpr T kLowest = -std::numeric_limits<T>::infinity();
    // Without the named classes, sum.
    for (index row = begin; row < end; ++row) {
      for_named(row, first, count, [&](index j, index v) {
        named_[row * teacher_.top + j] = logits[v * apart_ + row];
        logits[v * apart_ + row] = kLowest;
      });
    }
    simd::for_vectors<T>(begin, end, [&](index at, auto lanes) {
      const T* column = logits + at;
      simd::Vec<T> top = simd::broadcast(kLowest);
      for (index v = 0; v < count; ++v) {
        top = simd::max<T>(simd::load(column + v * apart_, lanes), top);
      }
      simd::store(tail_tops_ + tile * rows_ + at, top, lanes);
      top = top == kLowest ? simd::Vec<T>{} : top;
      simd::Vec<T> total{};
      for (index v = 0; v < count; ++v) {
        total += simd::exp((simd::load(column + v * apart_, lanes) - top) * warmth_);
      }
      simd::store(tail_sums_ + tile * rows_ + at, total, lanes);
    });
    // Put them back.
    for (index row = begin; row < end; ++row) {
      for_named(row, first, count, [&](index j, index v) { logits[v * apart_ + row] = named_[row * teacher_.top + j]; });
    }
  }

  /// Returns a row's cost against the teacher, before scaling, and keeps what backward needs. Call it once for each row, after all tiles.
  T cost_of(index row) {
    // The logarithms of the sums of e^(logit / temperature), over the tail and over all classes.
    const T* named = named_ + row * teacher_.top;
    T top = -std::numeric_limits<T>::infinity();
    for (index tile = 0; tile < tiles_; ++tile) {
      top = std::max(top, tail_tops_[tile * rows_ + row]);
    }
    T sum{};
    for (index tile = 0; tile < tiles_; ++tile) {
      sum += tail_sums_[tile * rows_ + row] * std::exp((tail_tops_[tile * rows_ + row] - top) * warmth_);
    }
    const T tail = top * warmth_ + std::log(sum);
    const T highest = std::max(tail, *std::max_element(named, named + teacher_.top) * warmth_);
    T all = std::exp(tail - highest);
    for (index j = 0; j < teacher_.top; ++j) {
      all += std::exp(named[j] * warmth_ - highest);
    }
    // Differences to the highest come first: in one number, log_sum would lose the digits of a small cost.
    const T log_all = std::log(all);
    const float* t = teacher_.probabilities + row * (teacher_.top + 1);
    const T t_tail = static_cast<T>(t[teacher_.top]);
    T mass = t_tail;
    T cost = t_tail == T(0) ? T(0) : t_tail * (log_all + (highest - tail));
    for (index j = 0; j < teacher_.top; ++j) {
      const T own = static_cast<T>(t[j]);
      mass += own;
      cost += own == T(0) ? T(0) : own * (log_all + (highest - named[j] * warmth_));
    }
    constexpr T kMost = 80;  // a tail of probability e^-80 has no gradient that matters, and e^80 is finite
    log_sums_[row] = highest + log_all;
    masses_[row] = mass;
    tail_factors_[row] = mass - t_tail * std::exp(std::min(log_sums_[row] - tail, kMost));
    return static_cast<T>(teacher_.temperature * teacher_.temperature) * cost;
  }

  /// The derivative of the cost with respect to a logit z of the tail is this times e^(z / temperature - log_sums()).
  const T* tail_factors() const { return tail_factors_; }
  const T* log_sums() const { return log_sums_; }
  T factor() const { return static_cast<T>(teacher_.share * teacher_.temperature); }
  T warmth() const { return warmth_; }
  /// Returns e^(1 / temperature) of each lane; 0 where it is 0.
  simd::Vec<T> warmed(simd::Vec<T> exponentials) const {
    const auto power = simd::exp(simd::log2_of_positive(exponentials) * (std::numbers::ln2_v<T> * warmth_));
    return exponentials < std::numeric_limits<T>::min() ? simd::Vec<T>{} : power;
  }

  /// Calls f(v, logit, derivative) for each named class v of a tile: the derivative of share times the cost.
  template <class F>
  void for_derivatives(index row, index first, index count, F&& f) const {
    const float* t = teacher_.probabilities + row * (teacher_.top + 1);
    for_named(row, first, count, [&](index j, index v) {
      const T logit = named_[row * teacher_.top + j];
      f(v, logit, factor() * (masses_[row] * std::exp(logit * warmth_ - log_sums_[row]) - static_cast<T>(t[j])));
    });
  }

 private:
  /// Calls f(j, v) for each named class, index j of the row, that has index v in a tile.
  template <class F>
  void for_named(index row, index first, index count, F&& f) const {
    const std::int32_t* ids = teacher_.ids + row * teacher_.top;
    const std::int32_t* const end = ids + teacher_.top;
    for (const std::int32_t* id = std::lower_bound(ids, end, first); id != end && *id < first + count; ++id) {
      f(id - ids, *id - first);
    }
  }

  TeacherTargets teacher_;
  index tiles_, rows_;
  index apart_;                            // elements from the logits of a class to those of the next
  T warmth_;                               // 1 / temperature
  T *tail_tops_, *tail_sums_;              // (tiles, rows): the largest logit of the tail, and the sum of e^((logit - top) / temperature)
  T* named_;                               // (rows, top): the logits of named classes
  T *log_sums_, *tail_factors_, *masses_;  // (rows)
};

}  // namespace dikkat::kernels
