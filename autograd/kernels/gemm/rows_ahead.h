#pragma once

#include <algorithm>
#include <array>

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// Rows of memory that a task will read or write soon, and that lie too far apart for the processor to guess them. Products ask for some
/// of their cache lines between two strips. So the lines arrive in the second level of the cache while the processor multiplies, a few at
/// a time: asked for all at once, they would fill its queue of misses, and the product would wait.
class RowsAhead {
 public:
  /// Adds `count` rows of `columns` elements. Rows that no room is left for are not fetched.
  template <class T>
  void add(const T* first, index stride, index count, index columns) {
    if (count > 0 && size_ < kMost) {
      waiting_[static_cast<std::size_t>(size_++)] = {reinterpret_cast<const char*>(first), stride * index{sizeof(T)}, count,
                                                     columns * index{sizeof(T)}};
    }
  }
  /// Asks for the next rows, about kLines cache lines.
  void fetch() {
    for (index lines = 0; lines < kLines && size_ > 0;) {
      Rows& rows = waiting_[0];
      for (; lines < kLines && rows.count > 0; --rows.count, rows.first += rows.stride) {
        for (index at = 0; at < rows.bytes; at += kLine, ++lines) {
          __builtin_prefetch(rows.first + at, 0, 3);
        }
      }
      if (rows.count == 0) {
        std::copy(waiting_.begin() + 1, waiting_.begin() + size_--, waiting_.begin());
      }
    }
  }

 private:
  static constexpr index kLine = 64;   // bytes of a cache line
  static constexpr index kLines = 32;  // of one fetch(): fewer than the misses that a core can wait for
  static constexpr index kMost = 8;
  struct Rows {
    const char* first;
    index stride, count, bytes;
  };
  std::array<Rows, kMost> waiting_{};
  index size_ = 0;
};

}  // namespace dikkat::kernels
