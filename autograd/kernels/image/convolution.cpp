#include "autograd/kernels/image/convolution.h"

#include <algorithm>

#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/image/depthwise.h"
#include "autograd/kernels/image/frame.h"
#include "autograd/kernels/run_tasks.h"

// A convolution is a product for each image and group: y = weight (filters, depth) columns (depth, pixels), where a column is a window of
// the image. Some columns at a time are unfolded into scratch memory, which fits into L2. Windows of one element are columns already. The
// gradient of x is weight^T dy, folded back, and that of the weights is dy columns^T.
//
// Images of few pixels are joined, so that products have enough columns. Filters that see one channel, as in depthwise convolutions, have
// loops of their own (depthwise.h). The cuts, and so the order of each sum, depend only on sizes.
namespace dikkat::kernels {
namespace {

using simd::kLanes;

constexpr index kUnfolded = 1 << 16;  // elements that are unfolded at once, about
constexpr index kPanel = 48;          // columns of a product's tile
constexpr index kVector = 16;         // products read a multiple of so many columns in place
constexpr index kFewPixels = 128;     // images with fewer are joined
constexpr index kTasks = 16;          // enough for some threads
constexpr index kMostSums = 1 << 22;  // elements of partial sums of the weights' gradients
constexpr index kFewFilters = 16;     // so few rows are multiplied by columns that are not packed
constexpr double kSmall = 8;          // times the least work of several threads: not worth partial sums

/// Columns of a product: the same pixels of some images.
struct Columns {
  index image, images;
  index begin, end;  // pixels

  index pixels() const { return end - begin; }
  index count() const { return images * pixels(); }
  bool is_joined() const { return images > 1; }
  /// Returns as many columns as products compute: whole vectors.
  index computed() const { return round_up(count(), kVector); }
  /// Returns whether products can read and write these columns where tensors have them.
  bool is_in_place() const { return !is_joined() && count() == computed(); }
};

/// Describes how columns are cut. A set is some small images, all of whose pixels are one block, or one image with some blocks of pixels.
class Cut {
 public:
  explicit Cut(const ConvolutionSizes& s)
      : images_(s.images), pixels_(s.pixels()), at_once_(std::max(kPanel, kUnfolded / s.depth() / kPanel * kPanel)) {
    if (pixels_ < kFewPixels) {
      joined_ = std::clamp<index>(images_ / kTasks, 1, std::max<index>(1, at_once_ / pixels_));
    }
  }

  index sets() const { return ceil_div(images_, joined_); }
  index blocks() const { return joined_ > 1 ? 1 : ceil_div(pixels_, at_once_); }  // blocks of a set
  Columns at(index set, index block) const {
    const index image = set * joined_;
    return {image, std::min(joined_, images_ - image), block * at_once_, joined_ > 1 ? pixels_ : std::min((block + 1) * at_once_, pixels_)};
  }

 private:
  index images_, pixels_, at_once_, joined_ = 1;
};

/// Rows of a matrix, `apart` elements from one to the next.
template <class T>
struct Rows {
  T* at;
  index apart;
};

/// Returns the elements from one row of columns to the next in scratch memory. Whole vectors may be written past the end of a row, and rows
/// do not all begin in the same set of a cache.
index apart(const Columns& columns) {
  constexpr index kSameSet = 1024;
  const index width = round_up(columns.count() + kVector - 1, kVector);
  return width % kSameSet == 0 ? width + kVector : width;
}

Frame frame_of(const ConvolutionSizes& s, const Columns& columns) {
  const index width = s.width.count();
  return {s.height, s.width, columns.begin / width, (columns.end - 1) / width + 1};
}

/// Calls f(from, to, count) for the parts of rows that the pixels of `columns` are. `from` is where the first window of a part begins in
/// the frame, and `to` is its index.
template <class F>
void for_rows(const Frame& frame, const Columns& columns, F&& f) {
  const index width = frame.width.count();
  index column = columns.begin % width, from = column;
  for (index at = columns.begin; at < columns.end;) {
    const index count = std::min(width - column, columns.end - at);
    f(from, at - columns.begin, count);
    from += frame.next_row() - column;
    at += count;
    column = 0;
  }
}

/// Calls f(channel, in_frame, frame) for the channels of a group, in parallel, with memory for a frame.
template <class T, class F>
void for_channels(const ConvolutionSizes& s, const Columns& columns, index channels, F&& f) {
  const Frame frame = frame_of(s, columns);
  auto scratch = [&] { const Scratch<T> asked(frame.size() + kLanes<T>); };
  parallel_for(channels, Work::elements(channels * s.taps() * columns.count()), scratch, [&](index channel) {
    const Scratch<T> in_frame(frame.size() + kLanes<T>);
    f(channel, in_frame.data(), frame);
  });
}

/// Calls f(row, at) for the taps of a channel: its row of the columns, and where the first window has it in a frame.
template <class F>
void for_taps(const ConvolutionSizes& s, const Frame& frame, index channel, F&& f) {
  index row = channel * s.taps();
  for (index i = 0; i < s.height.kernel; ++i) {
    for (index j = 0; j < s.width.kernel; ++j) {
      f(row++, frame.at(i, j));
    }
  }
}

bool is_plain(const ConvolutionSizes& s) { return s.height.is_plain() && s.width.is_plain(); }

/// The windows of a group as columns (depth, columns): in place, or in scratch memory.
template <class T>
class Unfolded {
 public:
  Unfolded(const ConvolutionSizes& s, const T* x, const Columns& columns, index group)
      : is_in_place_(is_plain(s) && columns.is_in_place()), memory_(is_in_place_ ? 0 : s.depth() * apart(columns)) {
    const T* first = x + (columns.image * s.channels + group * s.group_channels()) * s.image();
    if (is_in_place_) {
      rows_ = {first + columns.begin, s.image()};
      return;
    }
    rows_ = {memory_.data(), apart(columns)};
    // Images are unfolded in their order, so that the next one overwrites the elements written past the end of one.
    for_channels<T>(s, columns, s.group_channels(), [&](index channel, T* in_frame, const Frame& frame) {
      for (index image = 0; image < columns.images; ++image) {
        fill_frame(frame, first + (image * s.channels + channel) * s.image(), T(0), in_frame);
        for_taps(s, frame, channel, [&](index row, index at) {
          T* to = memory_ + row * apart(columns) + image * columns.pixels();
          for_rows(frame, columns, [&](index from, index pixel, index count) {
            for (index i = 0; i < count; i += kLanes<T>) {
              simd::store(to + pixel + i, simd::load(in_frame + at + from + i));
            }
          });
        });
      }
    });
  }

  Rows<const T> rows() const { return rows_; }

 private:
  bool is_in_place_;
  Scratch<T> memory_;
  Rows<const T> rows_{};
};

/// Adds the windows of channels, columns (channels * taps, columns), back to their images. `dx` begins with channel 0 of the first image.
/// Returns the rows of images that are done then.
template <class T>
index fold(const ConvolutionSizes& s, const Columns& columns, index channels, Rows<const T> from, index done, GradOut<T> dx) {
  const bool is_last = columns.end == s.pixels();
  for_channels<T>(s, columns, channels, [&](index channel, T* in_frame, const Frame& frame) {
    for (index image = 0; image < columns.images; ++image) {
      std::fill_n(in_frame, frame.size() + kLanes<T>, T(0));
      for_taps(s, frame, channel, [&](index row, index at) {
        const T* of_tap = from.at + row * from.apart + image * columns.pixels();
        for_rows(frame, columns,
                 [&](index to, index pixel, index count) { add_to_frame(of_tap + pixel, count, T(1), in_frame + at + to); });
      });
      empty_frame(frame, in_frame, done, is_last, GradOut<T>{dx.data + (image * s.channels + channel) * s.image(), dx.add});
    }
  });
  return std::max(done, frame_of(s, columns).end_row());
}

/// The gradient of a group's result (filters, columns): in place, or in scratch memory, where further columns that are computed are zero.
template <class T>
class Gathered {
 public:
  Gathered(const ConvolutionSizes& s, const T* dy, const Columns& columns, index group, bool in_place)
      : memory_(in_place ? 0 : s.group_filters() * apart(columns)) {
    const index pixels = s.pixels();
    const T* first = dy + (columns.image * s.filters + group * s.group_filters()) * pixels + columns.begin;
    rows_ = {first, pixels};
    if (!in_place) {
      rows_ = {memory_.data(), apart(columns)};
      parallel_for(s.group_filters(), Work::elements(s.group_filters() * columns.count()), [&](index filter) {
        T* to = memory_ + filter * apart(columns);
        for (index image = 0; image < columns.images; ++image) {
          std::copy_n(first + (image * s.filters + filter) * pixels, columns.pixels(), to + image * columns.pixels());
        }
        std::fill(to + columns.count(), to + columns.computed(), T(0));
      });
    }
  }

  Rows<const T> rows() const { return rows_; }

 private:
  Scratch<T> memory_;
  Rows<const T> rows_{};
};

template <class T>
class Products {
 public:
  explicit Products(const Convolution<T>& p) : p_(p), s_(p.sizes), cut_(s_) {}

  void forward() const {
    const index tasks = cut_.sets() * cut_.blocks() * s_.groups;
    run_tasks(tasks, work_of(tasks), [&](index i) {
      const index block = i / s_.groups;
      compute(cut_.at(block / cut_.blocks(), block % cut_.blocks()), i % s_.groups);
    });
  }

  /// Each task computes the gradient of some channels of a set of images.
  void input_gradient() const {
    const index sets = cut_.sets() * s_.groups;
    const index parts = sets == 0 ? 1 : std::clamp<index>(ceil_div(kTasks, sets), 1, s_.group_channels());
    run_tasks(sets * parts, work_of(sets * parts), [&](index i) {
      const index set = i / parts, part = i % parts;
      const index first = s_.group_channels() * part / parts, end = s_.group_channels() * (part + 1) / parts;
      input_gradient(set / s_.groups, set % s_.groups, first, end - first);
    });
  }

  /// Each task sums over some sets of images. The sums are then added in order.
  void weight_gradient() const {
    const index size = s_.group_filters() * s_.depth(), sets = cut_.sets();
    const bool is_small = s_.multiply_adds() < kSmall * kLeastWork.multiply_adds;
    const index parts =
        is_small ? 1
                 : std::clamp<index>(std::min(ceil_div(kTasks, s_.groups), kMostSums / (s_.groups * size)), 1, std::max<index>(sets, 1));
    const Scratch<T> sums(parts * s_.groups * size);
    run_tasks(parts * s_.groups, work_of(parts * s_.groups), [&](index i) {
      const index part = i / s_.groups;
      sum_weight_gradient(i % s_.groups, sets * part / parts, sets * (part + 1) / parts, sums + i * size);
    });
    parallel_for(s_.filters, Work::elements((parts + 1) * s_.groups * size), [&](index filter) {
      const index group = filter / s_.group_filters(), row = filter % s_.group_filters();
      const T* first = sums + group * size + (is_transposed() ? row : row * s_.depth());
      const index step = is_transposed() ? s_.group_filters() : 1;
      for (index i = 0; i < s_.depth(); ++i) {
        T total = first[i * step];
        for (index part = 1; part < parts; ++part) {
          total += first[part * s_.groups * size + i * step];
        }
        p_.dweight.put(filter * s_.depth() + i, total);
      }
    });
  }

 private:
  Work work_of(index tasks) const { return {s_.multiply_adds() / static_cast<double>(std::max<index>(tasks, 1))}; }
  const T* weight(index group) const { return p_.weight + group * s_.group_filters() * s_.depth(); }
  const T* bias(index group) const { return p_.bias == nullptr ? nullptr : p_.bias + group * s_.group_filters(); }
  /// Returns whether sums of the weights' gradients are (depth, filters): then dy is packed, which has fewer rows than the columns.
  bool is_transposed() const { return s_.group_filters() > kFewFilters; }

  void compute(const Columns& columns, index group) const {
    const Unfolded<T> unfolded(s_, p_.x, columns, group);
    const Rows<const T> windows = unfolded.rows();
    const index filters = s_.group_filters(), pixels = s_.pixels();
    const Work elements = Work::elements(filters * columns.count());
    const T* added = bias(group);
    T* const y = p_.y + (columns.image * s_.filters + group * filters) * pixels + columns.begin;
    // Describe the product of weights and windows.
    Gemm<T> product{.m = filters,
                    .n = columns.computed(),
                    .k = s_.depth(),
                    .a = weight(group),
                    .lda = s_.depth(),
                    .b = windows.at,
                    .ldb = windows.apart};
    // Multiply in place if products can write the columns in y, where the biases are first.
    if (columns.is_in_place()) {
      if (added != nullptr) {
        parallel_for(filters, elements, [&](index filter) { std::fill_n(y + filter * pixels, columns.count(), added[filter]); });
      }
      product.c = y;
      product.ldc = pixels;
      product.add = added != nullptr;
      gemm(product);
      return;
    }
    // Compute whole vectors elsewhere, and copy the columns to their images.
    const Scratch<T> sums(filters * columns.computed());
    product.c = sums;
    product.ldc = columns.computed();
    gemm(product);
    parallel_for(filters, elements, [&](index filter) {
      const T plus = added == nullptr ? T(0) : added[filter];
      for (index image = 0; image < columns.images; ++image) {
        const T* from = sums + filter * columns.computed() + image * columns.pixels();
        T* to = y + (image * s_.filters + filter) * pixels;
        for (index i = 0; i < columns.pixels(); ++i) {
          to[i] = from[i] + plus;
        }
      }
    });
  }

  void input_gradient(index set, index group, index first, index channels) const {
    index done = 0;
    for (index block = 0; block < cut_.blocks(); ++block) {
      const Columns columns = cut_.at(set, block);
      const Gathered<T> gathered(s_, p_.dy, columns, group, columns.is_in_place());
      const Rows<const T> dy = gathered.rows();
      const GradOut<T> dx{p_.dx.data + (columns.image * s_.channels + group * s_.group_channels() + first) * s_.image(), p_.dx.add};
      Gemm<T> product{.m = channels * s_.taps(),
                      .n = columns.computed(),
                      .k = s_.group_filters(),
                      .a = weight(group) + first * s_.taps(),
                      .lda = s_.depth(),
                      .transpose_a = true,
                      .b = dy.at,
                      .ldb = dy.apart};
      if (is_plain(s_) && s_.pixels() % kVector == 0 && !columns.is_joined()) {
        product.c = dx.data + columns.begin;
        product.ldc = s_.image();
        product.add = dx.add;
        gemm(product);
        continue;
      }
      const Scratch<T> windows(product.m * apart(columns));
      product.c = windows;
      product.ldc = apart(columns);
      gemm(product);
      done = fold<T>(s_, columns, channels, {windows.data(), apart(columns)}, done, dx);
    }
  }

  /// Sets `sums` to the gradient of a group's weights from some sets of images.
  void sum_weight_gradient(index group, index first_set, index end_set, T* sums) const {
    const index filters = s_.group_filters(), depth = s_.depth();
    for (index set = first_set; set < end_set; ++set) {
      for (index block = 0; block < cut_.blocks(); ++block) {
        const Columns columns = cut_.at(set, block);
        const Gathered<T> gathered(s_, p_.dy, columns, group, !columns.is_joined());
        const Unfolded<T> unfolded(s_, p_.x, columns, group);
        Rows<const T> a = gathered.rows(), b = unfolded.rows();
        if (is_transposed()) {
          std::swap(a, b);
        }
        gemm(Gemm<T>{.m = is_transposed() ? depth : filters,
                     .n = is_transposed() ? filters : depth,
                     .k = columns.count(),
                     .a = a.at,
                     .lda = a.apart,
                     .b = b.at,
                     .ldb = b.apart,
                     .transpose_b = true,
                     .c = sums,
                     .ldc = is_transposed() ? filters : depth,
                     .add = set > first_set || block > 0});
      }
    }
    if (first_set == end_set) {
      parallel_for(1, Work::elements(filters * depth), [&](index) { std::fill_n(sums, filters * depth, T(0)); });
    }
  }

  const Convolution<T>& p_;
  const ConvolutionSizes& s_;
  Cut cut_;
};

/// dbias = sum of dy over images and pixels.
template <class T>
void bias_gradient(const Convolution<T>& p) {
  const ConvolutionSizes& s = p.sizes;
  const index pixels = s.pixels();
  parallel_for(s.filters, Work::elements(s.images * s.filters * pixels), [&](index filter) {
    T total = 0;
    for (index image = 0; image < s.images; ++image) {
      const T* dy = p.dy + (image * s.filters + filter) * pixels;
      simd::Vec<T> sums[4] = {};
      for (index at = 0; at < pixels;) {
        for (index i = 0; i < 4 && at < pixels; ++i, at += kLanes<T>) {
          sums[i] += load_first(dy + at, pixels - at);
        }
      }
      total += simd::sum<T>((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
    p.dbias.put(filter, total);
  });
}

}  // namespace

template <class T>
void convolution_forward(const Convolution<T>& p) {
  is_depthwise(p.sizes) ? depthwise_forward(p) : Products<T>(p).forward();
}

template <class T>
void convolution_backward(const Convolution<T>& p) {
  const bool depthwise = is_depthwise(p.sizes);
  if (p.dx) {
    depthwise ? depthwise_input_gradient(p) : Products<T>(p).input_gradient();
  }
  if (p.dweight) {
    depthwise ? depthwise_weight_gradient(p) : Products<T>(p).weight_gradient();
  }
  if (p.dbias) {
    bias_gradient(p);
  }
}

namespace {

/// Calls f(plane, in_frame) for all planes (image and channel), in parallel, with memory for their frames.
template <class T, class F>
void for_planes(const ConvolutionSizes& s, F&& f) {
  const index most = most_in_frames<T>(s.height, s.width);
  auto scratch = [most] { const Scratch<T> asked(most); };
  const index planes = s.images * s.channels;
  parallel_for(planes, Work::elements(planes * (s.image() + s.taps() * s.pixels())), scratch, [&](index plane) {
    const Scratch<T> in_frame(most);
    f(plane, in_frame.data());
  });
}

/// Calls f(at in the frame, at in the column of pixels) for each row of windows at each tap of a channel.
template <class F>
void for_tap_rows(const ConvolutionSizes& s, const Frame& frame, F&& f) {
  for_taps(s, frame, 0, [&](index tap, index at) {
    for (index row = 0; row < frame.windows; ++row) {
      f(at + row * frame.next_row(), tap * s.pixels() + (frame.first_window + row) * s.width.count());
    }
  });
}

}  // namespace

template <class T>
void unfold_forward(const Unfold<T>& p) {
  const ConvolutionSizes& s = p.sizes;
  const index width = s.width.count();
  for_planes<T>(s, [&](index plane, T* in_frame) {
    T* const y = p.y + plane * s.taps() * s.pixels();
    for_frames(s.height, s.width, [&](const Frame& frame, bool) {
      fill_frame(frame, p.x + plane * s.image(), T(0), in_frame);
      for_tap_rows(s, frame, [&](index from, index to) {
        for (index i = 0; i < width; i += kLanes<T>) {
          store_first(y + to + i, simd::load(in_frame + from + i), width - i);
        }
      });
    });
  });
}

template <class T>
void unfold_backward(const Unfold<T>& p) {
  if (!p.dx) {
    return;
  }
  const ConvolutionSizes& s = p.sizes;
  for_planes<T>(s, [&](index plane, T* in_frame) {
    const T* const dy = p.dy + plane * s.taps() * s.pixels();
    const GradOut<T> dx{p.dx.data + plane * s.image(), p.dx.add};
    index done = 0;
    for_frames(s.height, s.width, [&](const Frame& frame, bool is_last) {
      std::fill_n(in_frame, frame.size() + kLanes<T>, T(0));
      for_tap_rows(s, frame, [&](index to, index from) { add_to_frame(dy + from, s.width.count(), T(1), in_frame + to); });
      done = empty_frame(frame, in_frame, done, is_last, dx);
    });
  });
}

#define DIKKAT_CONVOLUTION(T)                                \
  template void convolution_forward(const Convolution<T>&);  \
  template void convolution_backward(const Convolution<T>&); \
  template void unfold_forward(const Unfold<T>&);            \
  template void unfold_backward(const Unfold<T>&);
DIKKAT_CONVOLUTION(float)
DIKKAT_CONVOLUTION(double)
#undef DIKKAT_CONVOLUTION

}  // namespace dikkat::kernels
