#include "autograd/kernels/reduce/cumulative_sum.h"

#include <algorithm>
#include <array>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"

namespace dikkat::kernels {
namespace {

constexpr index kSection = 1 << 10;  // elements of a row that are added in one chain
constexpr index kChains = 8;         // chains that run at once: an addition takes four cycles
constexpr index kColumns = 1 << 8;   // columns whose sums stay in L1
constexpr index kTile = 1 << 14;     // elements of a tile

template <class T>
double wide(T x) {
  return static_cast<double>(to_computed(x));
}
template <class T>
void put(GradOut<T> y, index at, double sum) {
  y.put(at, static_cast<Computed<T>>(sum));
}

/// A section of a row. Sums begin with `before`.
struct Section {
  index first, count;
  double before;
};

/// Adds the sections of one tile, each starting at its first element, or at its last with `backward`.
template <class T>
void scan(const CumulativeSum<T>& p, const std::array<Section, kChains>& sections, index chains) {
  const index step = p.backward ? -1 : 1;
  std::array<double, kChains> sums;
  std::array<index, kChains> places;
  index together = kSection;  // elements that all sections have
  for (index c = 0; c < chains; ++c) {
    const Section& own = sections[static_cast<std::size_t>(c)];
    sums[static_cast<std::size_t>(c)] = own.before;
    places[static_cast<std::size_t>(c)] = p.backward ? own.first + own.count - 1 : own.first;
    together = std::min(together, own.count);
  }
  index done = 0;
  if (chains == kChains) {
    for (; done < together; ++done) {
      for (std::size_t c = 0; c < kChains; ++c) {
        sums[c] += wide(p.x[places[c] + done * step]);
      }
      for (std::size_t c = 0; c < kChains; ++c) {
        put(p.y, places[c] + done * step, sums[c]);
      }
    }
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(chains); ++c) {
    for (index i = done; i < sections[c].count; ++i) {
      sums[c] += wide(p.x[places[c] + i * step]);
      put(p.y, places[c] + i * step, sums[c]);
    }
  }
}

/// Scans rows of contiguous elements. Each is cut into sections. If there are several, the sums of whole sections come first.
template <class T>
void scan_rows(const CumulativeSum<T>& p) {
  const index in_row = ceil_div(p.cols, kSection), sections = p.rows * in_row;
  const Scratch<double> before(in_row > 1 ? sections : 0);
  const auto section_at = [&](index i) {
    const index first = i % in_row * kSection;
    return Section{i / in_row * p.cols + first, std::min(kSection, p.cols - first), in_row > 1 ? before[i] : 0};
  };
  // Where rows have several sections, sum each section.
  if (in_row > 1) {
    parallel_blocks(sections, kChains, Work::elements(p.rows * p.cols), [&](index begin, index end) {
      for (index i = begin; i < end; ++i) {
        const Section own = section_at(i);
        std::array<double, kChains> sums{};
        for (index at = 0; at < own.count; at += kChains) {
          for (index c = 0; c < std::min(kChains, own.count - at); ++c) {
            sums[static_cast<std::size_t>(c)] += wide(p.x[own.first + at + c]);
          }
        }
        before[i] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
      }
    });
    // Replace the section's sum by the sum of the sections before it.
    parallel_for(p.rows, Work::elements(sections), [&](index row) {
      double sum = 0;
      for (index i = 0; i < in_row; ++i) {
        double& own = before[row * in_row + (p.backward ? in_row - 1 - i : i)];
        const double more = own;
        own = sum;
        sum += more;
      }
    });
  }
  // Scan the sections, several at a time.
  const index groups = std::max<index>(1, kTile / (kChains * std::min(p.cols, kSection)));
  parallel_blocks(sections, kChains * groups, Work::elements(p.rows * p.cols), [&](index begin, index end) {
    for (index i = begin; i < end; i += kChains) {
      std::array<Section, kChains> some{};
      const index chains = std::min(kChains, end - i);
      for (index c = 0; c < chains; ++c) {
        some[static_cast<std::size_t>(c)] = section_at(i + c);
      }
      scan(p, some, chains);
    }
  });
}

/// Scans columns: each row is added to the sums of the rows before it.
template <class T>
void scan_columns(const CumulativeSum<T>& p) {
  const index parts = ceil_div(p.inner, kColumns);
  const index in_tile = std::max<index>(1, kTile / (p.cols * std::min(p.inner, kColumns)));
  parallel_blocks(p.rows * parts, in_tile, Work::elements(p.rows * p.cols * p.inner), [&](index begin, index end) {
    for (index tile = begin; tile < end; ++tile) {
      const index first = tile % parts * kColumns, count = std::min(kColumns, p.inner - first);
      std::array<double, kColumns> sums{};
      for (index i = 0; i < p.cols; ++i) {
        const index row = tile / parts * p.cols + (p.backward ? p.cols - 1 - i : i);
        const T* x = p.x + row * p.inner + first;
        const GradOut<T> y{p.y.data + row * p.inner + first, p.y.add};
        for (index c = 0; c < count; ++c) {
          sums[static_cast<std::size_t>(c)] += wide(x[c]);
        }
        for (index c = 0; c < count; ++c) {
          put(y, c, sums[static_cast<std::size_t>(c)]);
        }
      }
    }
  });
}

}  // namespace

template <class T>
void cumulative_sum(const CumulativeSum<T>& p) {
  if (p.rows * p.cols * p.inner == 0) {
    return;
  }
  p.inner == 1 ? scan_rows(p) : scan_columns(p);
}

template void cumulative_sum(const CumulativeSum<float>&);
template void cumulative_sum(const CumulativeSum<double>&);
template void cumulative_sum(const CumulativeSum<bf16>&);

}  // namespace dikkat::kernels
