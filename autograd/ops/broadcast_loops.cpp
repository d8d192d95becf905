#include "autograd/ops/broadcast_loops.h"

#include <algorithm>
#include <cstring>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"

namespace dikkat::detail {
namespace {

constexpr index kTile = 1 << 14;     // elements of a tile: enough to be worth a task
constexpr index kColumns = 1 << 11;  // elements of a row whose sums stay in the first cache
constexpr std::size_t kMost = kMostOperands;
constexpr std::size_t kLaneBytes = 64;  // at least a vector of any program that calls this

/// Where a row begins in each operand, and in the result, in elements.
struct Place {
  std::array<index, kMost> x{};
  index y = 0;
};

/// Some of the outer axes of a broadcast, as one loop.
class Loop {
 public:
  explicit Loop(const Broadcast& broadcast) : broadcast_(broadcast) {}

  void add_axis(int axis) {
    axes_[static_cast<std::size_t>(count_++)] = axis;
    size_ *= broadcast_.extent(axis);
  }
  index size() const { return size_; }
  /// Adds to `place` what index `i` of the loop moves it by.
  void move(Place& place, index i) const {
    for (int k = count_ - 1; k >= 0; --k) {
      const int axis = axes_[static_cast<std::size_t>(k)];
      const index at = i % broadcast_.extent(axis);
      i /= broadcast_.extent(axis);
      place.y += at * broadcast_.whole_stride(axis);
      for (int array = 0; array < broadcast_.arrays(); ++array) {
        place.x[static_cast<std::size_t>(array)] += at * broadcast_.stride(array, axis);
      }
    }
  }

 private:
  const Broadcast& broadcast_;
  std::array<int, Broadcast::kMostAxes> axes_{};
  int count_ = 0;
  index size_ = 1;
};

/// Calls f(x, steps) with the row of `place` that begins `first` elements after it.
template <class F>
void with_row(const BroadcastProblem& p, const Place& place, index first, F&& f) {
  std::array<const void*, kMost> row{};
  std::array<index, kMost> steps{};
  for (int array = 0; array < p.broadcast.arrays(); ++array) {
    const auto i = static_cast<std::size_t>(array);
    steps[i] = p.broadcast.stride(array, p.broadcast.axes() - 1);
    row[i] = p.x[i] + static_cast<std::size_t>(place.x[i] + first * steps[i]) * p.element;
  }
  f(row.data(), steps.data());
}
std::size_t bytes_of(const BroadcastProblem& p, index elements) { return static_cast<std::size_t>(elements) * p.element; }

}  // namespace

void run_forward(const BroadcastProblem& p, std::byte* y, bool add) {
  // Tiles are parts of one row, or some rows.
  const Broadcast& b = p.broadcast;
  const index inner = b.inner();
  Loop outer(b);
  for (int axis = 0; axis + 1 < b.axes(); ++axis) {
    outer.add_axis(axis);
  }
  const index parts = ceil_div(inner, kTile);
  const index rows_in_tile = std::max<index>(1, kTile / std::max<index>(inner, 1));
  parallel_blocks(outer.size() * parts, rows_in_tile, Work::elements(b.shape().size()), [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      Place place;
      outer.move(place, i / parts);
      const index first = i % parts * kTile;
      with_row(p, place, first, [&](const void* const* x, const index* steps) {
        p.loops.forward(
            p.formula,
            {.x = x, .steps = steps, .y = y + bytes_of(p, place.y + first), .count = std::min(kTile, inner - first), .add = add});
      });
    }
  });
}

/// Writes gradients in one pass over dy. `sums`: the operands that repeat along the same axes, whose gradients are sums; the others are
/// written element by element, or not at all.
template <class T>
void run_backward(const BroadcastProblem& p, const std::byte* dy, std::span<const int> sums, const std::array<GradOut<T>, kMost>& dx) {
  using C = Computed<T>;
  const Broadcast& b = p.broadcast;
  const index inner = b.inner();
  const bool inner_stays = sums.empty() || b.stride(sums.front(), b.axes() - 1) != 0;

  // Divide the outer axes into those that a sum keeps and those that it is over. Tiles have some of either kind.
  Loop kept(b), summed(b);
  for (int axis = 0; axis + 1 < b.axes(); ++axis) {
    const bool stays = sums.empty() || b.stride(sums.front(), axis) != 0;
    (stays ? kept : summed).add_axis(axis);
  }
  const index part = inner_stays && !sums.empty() ? kColumns : kTile;  // of a row
  const index parts = ceil_div(inner, part);
  const index part_size = std::max<index>(1, std::min(inner, part));
  const index kept_count = kept.size() * (inner_stays ? parts : 1);
  const index summed_count = summed.size() * (inner_stays ? 1 : parts);
  const index in_chunk = std::min(std::max<index>(inner_stays ? 64 : 1, kTile / part_size), summed_count);
  const index chunks = ceil_div(summed_count, std::max<index>(in_chunk, 1));
  const index kept_in_tile = std::max<index>(1, kTile / (part_size * std::max<index>(in_chunk, 1)));
  const index kept_tiles = ceil_div(kept_count, kept_in_tile);
  const index results = kept.size() * (inner_stays ? inner : 1);  // elements of an operand of `sums`
  const Scratch<C> partial(static_cast<index>(sums.size()) * chunks * results);

  // Compute each tile.
  parallel_for(kept_tiles * chunks, Work::elements(b.shape().size()), [&](index tile) {
    const index chunk = tile / kept_tiles;
    const index first_kept = tile % kept_tiles * kept_in_tile;
    alignas(kLaneBytes) std::array<std::array<std::byte, kLaneBytes>, kMost> lanes;
    for (index k = first_kept; k < std::min(kept_count, first_kept + kept_in_tile); ++k) {
      const index kept_outer = inner_stays ? k / parts : k;
      const index kept_first = inner_stays ? k % parts * part : 0;
      Place kept_place;
      kept.move(kept_place, kept_outer);
      const auto sum_of = [&](std::size_t s) {
        return partial.data() + (static_cast<index>(s) * chunks + chunk) * results + (inner_stays ? kept_outer * inner + kept_first : k);
      };
      if (inner_stays) {
        for (std::size_t s = 0; s < sums.size(); ++s) {
          std::fill_n(sum_of(s), std::min(part, inner - kept_first), C(0));
        }
      } else {
        std::memset(&lanes, 0, sizeof lanes);
      }
      for (index i = chunk * in_chunk; i < std::min(summed_count, (chunk + 1) * in_chunk); ++i) {
        Place place = kept_place;
        summed.move(place, inner_stays ? i : i / parts);
        const index first = inner_stays ? kept_first : i % parts * part;
        std::array<void*, kMost> to{};
        std::array<RowGradient, kMost> kinds{};
        for (int array = 0; array < b.arrays(); ++array) {
          const auto a = static_cast<std::size_t>(array);
          if (dx[a] && !b.repeats(array)) {
            to[a] = dx[a].data + place.y + first;
            kinds[a] = dx[a].add ? RowGradient::add : RowGradient::overwrite;
          }
        }
        for (std::size_t s = 0; s < sums.size(); ++s) {
          const auto a = static_cast<std::size_t>(sums[s]);
          to[a] = inner_stays ? static_cast<void*>(sum_of(s)) : lanes[s].data();
          kinds[a] = inner_stays ? RowGradient::sum_in_columns : RowGradient::sum_in_lanes;
        }
        with_row(p, place, first, [&](const void* const* x, const index* steps) {
          p.loops.backward(p.formula, {.x = x,
                                       .steps = steps,
                                       .dy = dy + bytes_of(p, place.y + first),
                                       .dx = to.data(),
                                       .kinds = kinds.data(),
                                       .count = std::min(part, inner - first)});
        });
      }
      if (!inner_stays) {
        for (std::size_t s = 0; s < sums.size(); ++s) {
          std::array<C, kLaneBytes / sizeof(C)> each;
          std::memcpy(each.data(), lanes[s].data(), kLaneBytes);
          for (std::size_t width = each.size() / 2; width > 0; width /= 2) {
            for (std::size_t i = 0; i < width; ++i) {
              each[i] += each[i + width];
            }
          }
          *sum_of(s) = each[0];
        }
      }
    }
  });

  // Add the chunks' sums, in their order.
  for (std::size_t s = 0; s < sums.size(); ++s) {
    const GradOut<T> out = dx[static_cast<std::size_t>(sums[s])];
    const C* const own = partial.data() + static_cast<index>(s) * chunks * results;
    parallel_blocks(results, kTile, Work::elements(chunks * results), [&](index begin, index end) {
      for (index i = begin; i < end; ++i) {
        C total = 0;
        for (index chunk = 0; chunk < chunks; ++chunk) {
          total += own[chunk * results + i];
        }
        out.put(i, total);
      }
    });
  }
}

template void run_backward(const BroadcastProblem&, const std::byte*, std::span<const int>,
                           const std::array<GradOut<float>, kMostOperands>&);
template void run_backward(const BroadcastProblem&, const std::byte*, std::span<const int>,
                           const std::array<GradOut<double>, kMostOperands>&);
template void run_backward(const BroadcastProblem&, const std::byte*, std::span<const int>,
                           const std::array<GradOut<bf16>, kMostOperands>&);

template <class T>
void run_whole_forward(const FormulaLoops& loops, const void* formula, std::span<const Tensor> x, index n, std::byte* y) {
  std::array<const T*, kMost> from;
  for (std::size_t i = 0; i < x.size(); ++i) {
    from[i] = x[i].data<T>();
  }
  parallel_blocks(n, kTile, [&](index begin, index end) {
    std::array<const void*, kMost> row;
    std::array<index, kMost> steps;
    for (std::size_t i = 0; i < x.size(); ++i) {
      row[i] = from[i] + begin;
      steps[i] = 1;
    }
    loops.forward(
        formula,
        {.x = row.data(), .steps = steps.data(), .y = y + static_cast<std::size_t>(begin) * sizeof(T), .count = end - begin, .add = false});
  });
}

template <class T>
void run_whole_backward(const FormulaLoops& loops, const void* formula, std::span<const Tensor> x, index n, const T* dy,
                        const std::array<GradOut<T>, kMost>& dx) {
  std::array<const T*, kMost> from;
  for (std::size_t i = 0; i < x.size(); ++i) {
    from[i] = x[i].data<T>();
  }
  parallel_blocks(n, kTile, [&](index begin, index end) {
    std::array<const void*, kMost> row;
    std::array<void*, kMost> to;
    std::array<index, kMost> steps;
    std::array<RowGradient, kMost> kinds;
    for (std::size_t i = 0; i < x.size(); ++i) {
      row[i] = from[i] + begin;
      steps[i] = 1;
      to[i] = dx[i] ? dx[i].data + begin : nullptr;
      kinds[i] = !dx[i] ? RowGradient::none : dx[i].add ? RowGradient::add : RowGradient::overwrite;
    }
    loops.backward(
        formula, {.x = row.data(), .steps = steps.data(), .dy = dy + begin, .dx = to.data(), .kinds = kinds.data(), .count = end - begin});
  });
}

template <class T>
void map_forward(const Formula& formula, index n, const T* x, T* y) {
  parallel_blocks(n, kTile, [&](index begin, index end) {
    const void* const from = x + begin;
    const index step = 1;
    formula.loops<T>().forward(formula.object, {.x = &from, .steps = &step, .y = y + begin, .count = end - begin, .add = false});
  });
}

template <class T>
void map_backward(const Formula& formula, index n, const T* x, const T* dy, GradOut<T> dx) {
  const RowGradient kind = dx.add ? RowGradient::add : RowGradient::overwrite;
  parallel_blocks(n, kTile, [&](index begin, index end) {
    const void* const from = x + begin;
    void* const to = dx.data + begin;
    const index step = 1;
    formula.loops<T>().backward(formula.object,
                                {.x = &from, .steps = &step, .dy = dy + begin, .dx = &to, .kinds = &kind, .count = end - begin});
  });
}

#define DIKKAT_INSTANTIATE(T)                                                                                       \
  template void run_whole_forward<T>(const FormulaLoops&, const void*, std::span<const Tensor>, index, std::byte*); \
  template void run_whole_backward(const FormulaLoops&, const void*, std::span<const Tensor>, index, const T*,      \
                                   const std::array<GradOut<T>, kMost>&);                                           \
  template void map_forward(const Formula&, index, const T*, T*);                                                   \
  template void map_backward(const Formula&, index, const T*, const T*, GradOut<T>);
DIKKAT_INSTANTIATE(float)
DIKKAT_INSTANTIATE(double)
DIKKAT_INSTANTIATE(bf16)
#undef DIKKAT_INSTANTIATE
template void run_whole_forward<std::int32_t>(const FormulaLoops&, const void*, std::span<const Tensor>, index, std::byte*);

}  // namespace dikkat::detail
