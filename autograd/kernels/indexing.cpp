#include "autograd/kernels/indexing.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/copy_run.h"
#include "autograd/kernels/strided_copy.h"

namespace dikkat::kernels {
namespace {

constexpr index kTile = 1 << 13;   // elements: enough to be worth a task
constexpr index kLeastPart = 16;   // elements of the inner axis: a line of the cache in f32
constexpr index kEnoughParts = 8;  // the inner axis is not divided further when there are as many tasks as this

constexpr index kMostOfBf16 = 64;  // elements of the inner axis: all ids have sums of f32 for them

/// An axis, with its strides in the array, in the ids and among the chosen elements.
struct Axis {
  index extent = 1, x = 0, ids = 0, y = 0;
};

/// Offsets in the array, in the ids and among the chosen elements.
struct Place {
  index x = 0, ids = 0, y = 0;

  Place moved(const Axis& axis, index by) const { return {x + by * axis.x, ids + by * axis.ids, y + by * axis.y}; }
};

/// The axes of a choice, without those of extent 1. Adjacent ones that all three arrays treat alike are joined.
struct Axes {
  std::array<Axis, Shape::kMaxRank> outer{};
  int count = 0;    // number of outer axes
  index lines = 1;  // the product of their extents
  Axis chosen{};    // its x is 0, as ids move along it
  index step = 0;   // in the array, from one id to the next
  Axis inner{};     // contiguous among the chosen elements; of extent 1 if the chosen axis is

  Place line(index i) const {
    Place place;
    for (int k = count - 1; k >= 0; --k) {
      const Axis& axis = outer[static_cast<std::size_t>(k)];
      place = place.moved(axis, i % axis.extent);
      i /= axis.extent;
    }
    return place;
  }
};

Axes axes_of(const Choice& choice) {
  const auto whole = contiguous_strides(choice.shape);
  Axes axes;
  // Join the axes other than the chosen one.
  bool last_follows = false;  // the last joined axis follows the chosen one
  for (int k = 0; k < choice.shape.rank(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Axis axis{choice.shape[k], choice.strides[i], choice.id_strides[i], whole[i]};
    if (k == choice.axis) {
      axes.chosen = {axis.extent, 0, axis.ids, axis.y};
      axes.step = axis.x;
      continue;
    }
    if (axis.extent == 1) {
      continue;
    }
    last_follows = k > choice.axis;
    Axis* const last = axes.count == 0 ? nullptr : &axes.outer[static_cast<std::size_t>(axes.count - 1)];
    const auto joins = [&](index before, index after) { return before == after * axis.extent; };
    if (last != nullptr && joins(last->x, axis.x) && joins(last->ids, axis.ids) && joins(last->y, axis.y)) {
      *last = {last->extent * axis.extent, axis.x, axis.ids, axis.y};
    } else {
      axes.outer[static_cast<std::size_t>(axes.count++)] = axis;
    }
  }
  // The last one is the inner axis if it is contiguous among the chosen elements.
  if (axes.count > 0 && (last_follows || axes.chosen.extent == 1)) {
    axes.inner = axes.outer[static_cast<std::size_t>(--axes.count)];
  }
  for (int k = 0; k < axes.count; ++k) {
    axes.lines *= axes.outer[static_cast<std::size_t>(k)].extent;
  }
  return axes;
}

/// Returns whether one id chooses a whole run of the inner axis, which is contiguous in the array.
bool chooses_runs(const Axes& axes) { return axes.inner.ids == 0 && axes.inner.x == 1; }

/// Calls f(column, place of id 0, id, place of the source) for the chosen elements of one line, in the order of the chosen axis. Columns
/// are begin to end - 1 of the inner axis; `column` counts from begin.
template <class F>
void for_line(const Choice& choice, const Axes& axes, const Place& line, index begin, index end, F&& f) {
  if (axes.inner.extent == 1) {
    const std::int32_t* const ids = choice.ids + line.ids;
    const index n = axes.chosen.extent, step = axes.chosen.ids;  // the sources are contiguous
    for (index j = 0; j < n; ++j) {
      f(0, line.x, index{ids[j * step]}, line.y + j);
    }
    return;
  }
  const index n = end - begin, x_step = axes.inner.x, id_step = axes.inner.ids;
  for (index j = 0; j < axes.chosen.extent; ++j) {
    const Place first = line.moved(axes.chosen, j).moved(axes.inner, begin);
    const std::int32_t* const ids = choice.ids + first.ids;
    for (index i = 0; i < n; ++i) {
      f(i, first.x + i * x_step, index{ids[i * id_step]}, first.y + i);
    }
  }
}

/// Adds the sources of one line, columns begin to end - 1 of the inner axis.
template <class T>
void add_line(const ScatterAdd<T>& p, const Axes& axes, const Place& line, index begin, index end) {
  if (chooses_runs(axes)) {
    for (index j = 0; j < axes.chosen.extent; ++j) {
      const Place at = line.moved(axes.chosen, j);
      const index place = at.x + p.choice.ids[at.ids] * axes.step;
      copy_run<T>(end - begin, p.source + at.y + begin, {p.y + place + begin, true});
    }
    return;
  }
  for_line(p.choice, axes, line, begin, end, [y = p.y, source = p.source, step = axes.step](index, index place, index id, index from) {
    T& to = y[place + id * step];
    to = to_stored<T>(to_computed(to) + to_computed(source[from]));
  });
}

/// Does what add_line() does, but sums in f32, so that elements that are chosen several times are rounded once. `sums` has room for each
/// id's columns.
void add_line_in_f32(const ScatterAdd<bf16>& p, const Axes& axes, const Place& line, index begin, index end, float* sums) {
  const auto sum_of = [&](index column, index id) -> float& { return sums[id * (end - begin) + column]; };
  const auto element = [&](index place, index id) -> bf16& { return p.y[place + id * axes.step]; };
  const auto each = [&](auto&& f) { for_line(p.choice, axes, line, begin, end, f); };
  each([&](index column, index place, index id, index) { sum_of(column, id) = to_float(element(place, id)); });
  each([&](index column, index, index id, index from) { sum_of(column, id) += to_float(p.source[from]); });
  each([&](index column, index place, index id, index) { element(place, id) = to_bf16(sum_of(column, id)); });
}

}  // namespace

template <class T>
void gather(const Gather<T>& p) {
  const Axes axes = axes_of(p.choice);
  // A row is contiguous among the chosen elements: a run of the inner axis for one j, or of the chosen axis. Long rows are divided.
  const bool along_chosen = axes.inner.extent == 1;
  const index in_line = along_chosen ? 1 : axes.chosen.extent;
  const index length = along_chosen ? axes.chosen.extent : axes.inner.extent;
  const index parts = ceil_div(length, kTile);
  const index in_tile = std::max<index>(1, kTile / std::max<index>(length, 1));
  parallel_blocks(axes.lines * in_line * parts, in_tile, Work::elements(p.choice.shape.size()), [&](index begin, index end) {
    for (index part = begin; part < end; ++part) {
      const index row = part / parts, first = part % parts * kTile, count = std::min(kTile, length - first);
      const Axis& along = along_chosen ? axes.chosen : axes.inner;
      const Place at = axes.line(row / in_line).moved(axes.chosen, row % in_line).moved(along, first);
      const T* const x = p.x + at.x;
      const std::int32_t* const ids = p.choice.ids + at.ids;
      const GradOut<T> y{p.y.data + at.y, p.y.add};
      if (!along_chosen && chooses_runs(axes)) {
        copy_run<T>(count, x + *ids * axes.step, y);
        continue;
      }
      for (index i = 0; i < count; ++i) {
        y.copy(i, x[i * along.x + ids[i * along.ids] * axes.step]);
      }
    }
  });
}

template <class T>
void scatter_add(const ScatterAdd<T>& p) {
  const Axes axes = axes_of(p.choice);
  // A task is some lines, or a part of the inner axis of one line. It writes all elements of y that its ids choose, so no other task does.
  const index width = axes.inner.extent;
  const index parts_wanted = ceil_div(kEnoughParts, std::max<index>(axes.lines, 1));
  const index most = std::is_same_v<T, bf16> ? kMostOfBf16 : width;
  const index part = std::min({width, most, std::max(kLeastPart, round_up(ceil_div(width, parts_wanted), kLeastPart))});
  const index parts = ceil_div(width, std::max<index>(part, 1));
  const index in_task = std::max<index>(1, kTile / std::max<index>(axes.chosen.extent * part, 1));
  const index tasks = ceil_div(axes.lines * parts, in_task);
  const auto for_task = [&](index task, auto&& add) {
    for (index i = task * in_task; i < std::min(axes.lines * parts, (task + 1) * in_task); ++i) {
      const index begin = i % parts * part;
      add(axes.line(i / parts), begin, std::min(begin + part, width));
    }
  };
  const auto work = Work::elements(p.choice.shape.size());
  // Sums of bf16 are in scratch memory, in f32.
  if constexpr (std::is_same_v<T, bf16>) {
    if (axes.chosen.extent > 1) {
      const index sums_of_a_part = p.choice.extent * part;
      parallel_for(
          tasks, work, [&] { const Scratch<float> sums(sums_of_a_part); },
          [&](index task) {
            const Scratch<float> sums(sums_of_a_part);
            for_task(task, [&](const Place& line, index begin, index end) { add_line_in_f32(p, axes, line, begin, end, sums); });
          });
      return;
    }
  }
  // Other sums are in y.
  parallel_for(tasks, work, [&](index task) {
    for_task(task, [&](const Place& line, index begin, index end) { add_line(p, axes, line, begin, end); });
  });
}

index first_outside(index n, const std::int32_t* ids, index extent) {
  const auto bound = static_cast<std::uint32_t>(std::min(extent, index{1} << 31));  // a negative id is a larger number than this
  std::atomic<bool> any = false;
  parallel_blocks(n, kTile, Work{4 * static_cast<double>(n)}, [&](index begin, index end) {
    std::uint32_t largest = 0;
    for (index i = begin; i < end; ++i) {
      largest = std::max(largest, static_cast<std::uint32_t>(ids[i]));
    }
    if (largest >= bound) {
      any.store(true, std::memory_order_relaxed);
    }
  });
  if (!any.load(std::memory_order_relaxed)) {
    return n;
  }
  return std::find_if(ids, ids + n, [&](std::int32_t id) { return static_cast<std::uint32_t>(id) >= bound; }) - ids;
}

template <class T>
void one_hot(index n, index classes, const std::int32_t* ids, T* y) {
  parallel_blocks(n, std::max<index>(1, kTile / std::max<index>(classes, 1)), Work::elements(n * classes), [&](index begin, index end) {
    std::fill(y + begin * classes, y + end * classes, T{});
    for (index i = begin; i < end; ++i) {
      y[i * classes + ids[i]] = to_stored<T>(1);
    }
  });
}

template void gather(const Gather<float>&);
template void gather(const Gather<double>&);
template void gather(const Gather<bf16>&);
template void gather(const Gather<std::int32_t>&);
template void scatter_add(const ScatterAdd<float>&);
template void scatter_add(const ScatterAdd<double>&);
template void scatter_add(const ScatterAdd<bf16>&);
template void one_hot(index, index, const std::int32_t*, float*);
template void one_hot(index, index, const std::int32_t*, double*);
template void one_hot(index, index, const std::int32_t*, bf16*);

}  // namespace dikkat::kernels
