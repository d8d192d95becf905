#include "autograd/ops/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "autograd/base/scratch.h"
#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/strided_copy.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

/// Queries, keys and values, and how many columns each has.
struct Operands {
  HeadColumns of[3];
  index columns[3];

  Operands(const HeadColumns& q, const HeadColumns& k, const HeadColumns& v, const AttentionOptions& o)
      : of{q, k, v}, columns{o.heads * o.head_size, key_columns(o), key_columns(o)} {}

 private:
  static index key_columns(const AttentionOptions& o) { return (o.key_heads == 0 ? o.heads : o.key_heads) * o.head_size; }
};

template <class T>
kernels::Heads<T> heads_in(T* data, const HeadColumns& columns) {
  const Shape& shape = columns.x.shape();
  return {data + columns.column, shape[1] * shape[2], shape[2]};
}

/// Returns whether the gradients of both go to the same memory. A parameter may be one operand, and tape.use() of it another.
bool same(Tensor a, Tensor b) {
  const ParameterGradient* parameter = a.record()->parameter;
  return a == b || (parameter != nullptr && parameter == b.record()->parameter);
}

/// Describes how the operands in one tensor share its columns.
struct Sharing {
  index columns = 0;     // columns of all operands together
  bool twice = false;    // two of them are the same columns
  bool crossed = false;  // two of them overlap in part
};

Sharing sharing_of(const Operands& operands, Tensor x) {
  Sharing sharing;
  for (int i = 0; i < 3; ++i) {
    if (!same(operands.of[i].x, x)) {
      continue;
    }
    const index begin = operands.of[i].column;
    const index end = begin + operands.columns[i];
    sharing.columns += end - begin;
    for (int j = 0; j < i; ++j) {
      if (same(operands.of[j].x, x)) {
        const index other = operands.of[j].column;
        const bool is_same = begin == other && operands.columns[i] == operands.columns[j];
        sharing.twice |= is_same;
        sharing.crossed |= !is_same && begin < other + operands.columns[j] && other < end;
      }
    }
  }
  return sharing;
}

/// Returns the gradients of operands that may lie in one tensor. If they are disjoint and fill it, they overwrite its gradient. Otherwise
/// the gradient is set to zero, unless something has been written to it, and they add to it.
template <class T>
std::array<kernels::HeadsOut<T>, 3> gradients_of(const Operands& operands, Gradients& g) {
  std::array<kernels::HeadsOut<T>, 3> out;
  std::array<GradOut<T>, 3> whole;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Tensor x = operands.of[i].x;
    const std::size_t first = same(x, operands.of[0].x) ? 0 : same(x, operands.of[1].x) ? 1 : 2;
    if (first == i) {
      whole[i] = g.into<T>(x);
      const Sharing sharing = sharing_of(operands, x);
      if (whole[i] && !whole[i].add && (sharing.twice || sharing.columns < x.shape()[2])) {
        kernels::fill<T>(x.size(), 0, whole[i]);
        whole[i].add = true;
      }
    }
    if (whole[first]) {
      out[i] = {heads_in(whole[first].data, operands.of[i]), whole[first].add};
    }
  }
  return out;
}

/// Returns the arguments of the kernel. Throws Error where operands and options do not fit.
kernels::AttentionShape shape_of(const Operands& operands, const AttentionOptions& options) {
  const auto& [q, k, v] = operands.of;
  require(options.heads >= 1 && options.head_size >= 1, "attention: ", options.heads, " heads of size ", options.head_size,
          ", expected 1 or more of each");
  require(options.key_heads == 0 || (options.key_heads > 0 && options.heads % options.key_heads == 0), "attention: ", options.key_heads,
          " heads of keys for ", options.heads, " of queries, expected a number that divides it");
  // Check the operands' columns.
  for (int i = 0; i < 3; ++i) {
    const Shape& shape = operands.of[i].x.shape();
    const index column = operands.of[i].column;
    require(shape.rank() == 3 && 0 <= column && column <= shape[2] - operands.columns[i], "attention: ", operands.columns[i],
            " columns from number ", column, " of ", shape, ", expected (batch, time, width) that contains them");
  }
  for (const HeadColumns& columns : operands.of) {
    require(!sharing_of(operands, columns.x).crossed,
            "attention: columns of two operands overlap in part, expected the same columns or disjoint ones");
  }
  // Check that the sizes agree.
  const index batch = q.x.shape()[0];
  const index queries = q.x.shape()[1];
  const index keys = k.x.shape()[1];
  const index key_batches = options.key_batch ? k.x.shape()[0] : batch;
  require(k.x.shape()[0] == key_batches && v.x.shape()[0] == key_batches && v.x.shape()[1] == keys, "attention: q is ", q.x.shape(), ", k ",
          k.x.shape(), " and v ", v.x.shape(), ", expected one batch size, and as many values as keys");
  // Check the batches of keys and the key bounds.
  if (const Tensor of = options.key_batch) {
    require(of.dtype() == DType::i32 && of.shape() == Shape{batch} && options.cache == nullptr, "attention: batches of keys are ",
            of.dtype(), " ", of.shape(), ", expected i32 [", batch, "], and no cache");
    for (index b = 0; b < batch; ++b) {
      const auto at = of.data<std::int32_t>()[b];
      require(0 <= at && at < key_batches, "attention: batch ", at, " of keys, expected 0 to ", key_batches - 1);
    }
  }
  for (const Tensor bound : {options.key_begin, options.key_end}) {
    require(!bound || (bound.dtype() == DType::i32 && bound.shape() == Shape{batch, queries}), "attention: key bounds are ",
            bound ? bound.dtype() : DType::i32, " ", bound ? bound.shape() : Shape{}, ", expected i32 [", batch, ", ", queries, "]");
    for (index i = 0; bound && i < bound.size(); ++i) {
      const auto key = bound.data<std::int32_t>()[i];
      require(0 <= key && key <= keys, "attention: key bound ", key, ", expected 0 to ", keys);
    }
  }
  // Check rotation, dropout, window and cache.
  if (const Tensor rotation = options.rotation) {
    const bool fits = rotation.shape() == Shape{queries, options.head_size} ||
                      (options.cache != nullptr && rotation.shape() == Shape{batch, queries, options.head_size});
    require(fits && queries == keys && options.head_size % 2 == 0, "attention: rotation is ", rotation.shape(), " for ", queries,
            " queries and ", keys, " keys with heads of ", options.head_size,
            ", expected as many queries as keys and a row for each, and an even size");
  }
  require(0 <= options.dropout && options.dropout < 1, "attention: dropout ", options.dropout, ", expected 0 <= p < 1");
  require(options.window >= 0 && (options.window == 0 || options.causal), "attention: a window of ", options.window,
          options.causal ? "" : " without a causal mask", ", expected 0 or more, and a causal mask for more than 0");
  require(options.cache == nullptr || !(options.key_begin || options.key_end),
          "attention: key bounds together with a cache, expected one of them");
  // Describe the problem.
  return {.batch = batch,
          .heads = options.heads,
          .queries = queries,
          .keys = keys,
          .head_size = options.head_size,
          .key_heads = options.key_heads,
          .scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(options.head_size))),
          .causal = options.causal,
          .query_offset = std::clamp(options.query_offset, -queries, keys),  // beyond these bounds it makes no difference
          .window = options.window,
          .key_begin = options.key_begin ? options.key_begin.data<std::int32_t>() : nullptr,
          .key_end = options.key_end ? options.key_end.data<std::int32_t>() : nullptr,
          .key_batch = options.key_batch ? options.key_batch.data<std::int32_t>() : nullptr,
          .dropout = options.dropout,
          .stream = options.stream,
          .first_batch = options.first_batch};
}

/// Returns shape_of() with the keys of a cache, in which each sequence has its own length. `begins` and `ends` (B, queries): where a query
/// begins and stops to see keys. Without a window, `begins` is null.
kernels::AttentionShape with_cache(kernels::AttentionShape s, const AttentionCache& cache, index query_offset, std::int32_t* begins,
                                   std::int32_t* ends) {
  const index added = s.keys;
  for (index b = 0; b < s.batch; ++b) {
    const index length = cache.sequences[static_cast<std::size_t>(b)].length;
    for (index i = 0; i < s.queries; ++i) {
      const index end = s.causal ? length + std::clamp(query_offset, -length - s.queries, added) + i + 1 : length + added;
      ends[b * s.queries + i] = static_cast<std::int32_t>(std::clamp<index>(end, 0, length + added));
      if (begins != nullptr) {
        begins[b * s.queries + i] = static_cast<std::int32_t>(std::clamp<index>(end - s.window, 0, length + added));
      }
    }
    s.keys = std::max(s.keys, length + added);
  }
  s.causal = false;
  s.query_offset = 0;
  s.window = 0;
  s.key_begin = begins;
  s.key_end = ends;
  return s;
}

/// Returns row 0 of the angles of rotary positions, or null.
template <class T>
const Computed<T>* angles_of(const AttentionOptions& options) {
  return options.rotation ? options.rotation.data<Computed<T>>() : nullptr;
}

/// Returns the distance from the angles of a sequence to those of the next; 0 if all sequences share them.
index angle_stride_of(const AttentionOptions& options) {
  return options.rotation && options.rotation.shape().rank() == 3 ? options.rotation.shape()[1] * options.head_size : 0;
}

/// Checks that keys and values fit into a cache.
void require_room_in(const AttentionCache& cache, const Shape& shape, DType dtype) {
  require(shape[0] <= std::ssize(cache.sequences), "attention: ", shape[0], " sequences for a cache of ", cache.sequences.size(),
          ", expected room for them");
  require(cache.dtype == dtype || (cache.dtype == DType::bf16 && dtype == DType::f32), "attention: the cache is ", cache.dtype,
          ", expected ", dtype);
  for (const CachedRows& rows : cache.sequences.first(static_cast<std::size_t>(shape[0]))) {
    require(0 <= rows.length && shape[1] <= rows.max_positions - rows.length, "attention: ", shape[1], " keys for a cache of ",
            rows.max_positions, " that has ", rows.length, ", expected room for them");
  }
}

/// Appends keys, rotated, and values to a cache that has room for them.
template <class T, class Key>
void append(const AttentionCache& cache, const Operands& operands, const AttentionOptions& options) {
  const HeadColumns& k = operands.of[1];
  const HeadColumns& v = operands.of[2];
  const Shape& shape = k.x.shape();
  const index width = operands.columns[1];
  const Scratch<Key*> to(shape[0]);
  for (index b = 0; b < shape[0]; ++b) {
    const CachedRows& rows = cache.sequences[static_cast<std::size_t>(b)];
    to[b] = static_cast<Key*>(rows.data) + rows.length * 2 * width;
  }
  kernels::append_keys<T, Key>({.batch = shape[0],
                                .rows = shape[1],
                                .heads = width / options.head_size,
                                .head_size = options.head_size,
                                .k = heads_in(k.x.data<T>(), k),
                                .v = heads_in(v.x.data<T>(), v),
                                .rotation = angles_of<T>(options),
                                .rotation_batch_stride = angle_stride_of(options),
                                .to = to});
}

/// Computes attention() of queries that see the keys and values of a cache, after theirs are appended.
template <class T, class Key>
void attend_to_cache(const Operands& operands, const AttentionOptions& options, kernels::AttentionShape& shape, Tensor y,
                     Computed<T>* log2_sum) {
  const AttentionCache& cache = *options.cache;
  append<T, Key>(cache, operands, options);
  Tape& tape = *y.tape();
  const index queries = shape.batch * shape.queries;
  auto* begins = shape.window > 0 ? tape.save<std::int32_t>(queries) : nullptr;
  shape = with_cache(shape, cache, options.query_offset, begins, tape.save<std::int32_t>(queries));
  const index width = operands.columns[1];
  const Scratch<const Key*> rows(shape.batch);
  for (index b = 0; b < shape.batch; ++b) {
    rows[b] = static_cast<const Key*>(cache.sequences[static_cast<std::size_t>(b)].data);
  }
  const auto columns_from = [&](index column) {
    return kernels::Heads<const Key>{.row_stride = 2 * width, .batches = rows, .column = column};
  };
  kernels::attention_forward<T, Computed<T>, Key>({.shape = shape,
                                                   .q = heads_in(operands.of[0].x.data<T>(), operands.of[0]),
                                                   .k = columns_from(0),
                                                   .v = columns_from(width),
                                                   .y = heads_in(y.mutable_data<T>(), {y}),
                                                   .log2_sum = log2_sum,
                                                   .q_rotation = angles_of<T>(options),
                                                   .q_rotation_batch_stride = angle_stride_of(options)});
}

/// Computes attention() with keys and values that are rounded to Key.
template <class T, class Key>
void attend_to_rounded(const Operands& operands, const AttentionOptions& options, const kernels::AttentionShape& shape, Tensor y,
                       Computed<T>* log2_sum) {
  const HeadColumns& k = operands.of[1];
  const HeadColumns& v = operands.of[2];
  const index batch = k.x.shape()[0];
  const index width = operands.columns[1];
  const Scratch<Key> rounded(batch * shape.keys * 2 * width);
  const Scratch<Key*> to(batch);
  for (index b = 0; b < batch; ++b) {
    to[b] = rounded + b * shape.keys * 2 * width;
  }
  kernels::append_keys<T, Key>({.batch = batch,
                                .rows = shape.keys,
                                .heads = shape.heads_of_keys(),
                                .head_size = shape.head_size,
                                .k = heads_in(k.x.data<T>(), k),
                                .v = heads_in(v.x.data<T>(), v),
                                .rotation = angles_of<T>(options),
                                .rotation_batch_stride = angle_stride_of(options),
                                .to = to});
  const auto columns_from = [&](index column) { return kernels::Heads<const Key>{rounded + column, shape.keys * 2 * width, 2 * width}; };
  kernels::attention_forward<T, Computed<T>, Key>({.shape = shape,
                                                   .q = heads_in(operands.of[0].x.data<T>(), operands.of[0]),
                                                   .k = columns_from(0),
                                                   .v = columns_from(width),
                                                   .y = heads_in(y.mutable_data<T>(), {y}),
                                                   .log2_sum = log2_sum,
                                                   .q_rotation = angles_of<T>(options),
                                                   .q_rotation_batch_stride = angle_stride_of(options)});
}

/// Returns the number of (query, key) pairs where the query sees the key, in all batches.
double visible_pairs(const kernels::AttentionShape& s) {
  double pairs = 0;
  for (index b = 0; b < s.batch; ++b) {
    for (index query = 0; query < s.queries; ++query) {
      pairs += static_cast<double>(std::max<index>(s.last_of(b, query) - s.first_of(b, query), 0));
    }
  }
  return pairs;
}

}  // namespace

Tensor attention(HeadColumns q, HeadColumns k, HeadColumns v, const AttentionOptions& options) {
  return for_stored(q.x.dtype(), "attention", [&](auto zero) {
    using T = decltype(zero);
    using Sum = Computed<T>;
    Tape& tape = begin_op(Op::attention, {q.x, k.x, v.x}, {options.key_begin, options.key_end, options.key_batch, options.rotation});
    require(!options.key_batch || !tape.recording(), "attention: batches of keys have no gradients, expected a tape that does not record");
    // Check the shapes and make the outputs.
    const Operands operands(q, k, v, options);
    kernels::AttentionShape shape = shape_of(operands, options);
    const index width = shape.heads * shape.head_size;
    const Sum* angles = angles_of<T>(options);
    const Tensor y = tape.make({shape.batch, shape.queries, width}, q.x.dtype());
    Sum* log2_sum = tape.save<Sum>(shape.batch * shape.heads * shape.queries);
    // Attend, through a cache or with rounded keys if the options have them.
    if (options.cache != nullptr) {
      require(!tape.recording(), "attention: a cache has no gradients, expected a tape that does not record");
      require_room_in(*options.cache, k.x.shape(), kDType<T>);
      if (std::is_same_v<T, float> && options.cache->dtype == DType::bf16) {
        attend_to_cache<T, std::conditional_t<std::is_same_v<T, float>, bf16, T>>(operands, options, shape, y, log2_sum);
      } else {
        attend_to_cache<T, T>(operands, options, shape, y, log2_sum);
      }
    } else if (std::is_same_v<T, float> && options.keys == DType::bf16) {
      require(!tape.recording(), "attention: rounded keys have no gradients, expected a tape that does not record");
      attend_to_rounded<T, std::conditional_t<std::is_same_v<T, float>, bf16, T>>(operands, options, shape, y, log2_sum);
    } else {
      kernels::attention_forward<T, Sum>({.shape = shape,
                                          .q = heads_in(q.x.data<T>(), q),
                                          .k = heads_in(k.x.data<T>(), k),
                                          .v = heads_in(v.x.data<T>(), v),
                                          .y = heads_in(y.mutable_data<T>(), {y}),
                                          .log2_sum = log2_sum,
                                          .q_rotation = angles,
                                          .k_rotation = angles,
                                          .q_rotation_batch_stride = angle_stride_of(options)});
    }
    // Record the cost and the backward pass.
    OpCost cost;
    if (tape.observed()) {  // counting the pairs takes a while
      const double product = 2 * visible_pairs(shape) * static_cast<double>(width);
      cost = cost_of({q.x, k.x, v.x}, {y}, 2 * product, 5 * product);  // backward computes the scores again
    }
    tape.record({q.x, k.x, v.x}, {y}, cost, [=](Gradients& g) {
      const auto out = gradients_of<T>(operands, g);
      kernels::attention_backward<T, Sum>({.shape = shape,
                                           .q = heads_in(q.x.data<T>(), q),
                                           .k = heads_in(k.x.data<T>(), k),
                                           .v = heads_in(v.x.data<T>(), v),
                                           .y = heads_in(y.data<T>(), {y}),
                                           .dy = heads_in(g.of<T>(y), {y}),
                                           .log2_sum = log2_sum,
                                           .dq = out[0],
                                           .dk = out[1],
                                           .dv = out[2],
                                           .q_rotation = angles,
                                           .k_rotation = angles});
    });
    return y;
  });
}

Tensor attention_weights(HeadColumns q, HeadColumns k, const AttentionOptions& options) {
  return for_float(q.x.dtype(), "attention", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::attention, {q.x, k.x}, {options.key_begin, options.key_end, options.key_batch, options.rotation});
    require(options.cache == nullptr, "attention: weights of cached keys are not computed, expected no cache");
    const kernels::AttentionShape shape = shape_of(Operands(q, k, k, options), options);
    const index heads = shape.heads;
    const index queries = shape.queries;
    const index keys = shape.keys;
    const index size = shape.head_size;
    const index width = heads * size;
    const index key_width = shape.heads_of_keys() * size;
    // Attend to the identity matrix, whose result is the weights, `size` columns at a time.
    const Tensor weights = tape.make({shape.batch, heads, queries, keys}, q.x.dtype());
    T* v = tape.save<T>(keys * key_width);  // values of every batch and head: `size` columns of the identity
    T* y = tape.save<T>(shape.batch * queries * width);
    T* log2_sum = tape.save<T>(shape.batch * heads * queries);
    std::fill_n(v, keys * key_width, T(0));
    for (index first = 0; first < keys; first += size) {
      const index count = std::min(size, keys - first);
      const auto set_diagonal = [&](T value) {
        for (index d = 0; d < count; ++d) {
          for (index h = 0; h < shape.heads_of_keys(); ++h) {
            v[(first + d) * key_width + h * size + d] = value;
          }
        }
      };
      // Attend to these columns of the identity, and clear them.
      set_diagonal(1);
      kernels::attention_forward<T>({.shape = shape,
                                     .q = heads_in(q.x.data<T>(), q),
                                     .k = heads_in(k.x.data<T>(), k),
                                     .v = {v, 0, key_width},
                                     .y = {y, queries * width, width},
                                     .log2_sum = log2_sum,
                                     .q_rotation = angles_of<T>(options),
                                     .k_rotation = angles_of<T>(options)});
      set_diagonal(0);
      // Copy the columns of all heads to the weights.
      for (index i = 0; i < shape.batch * heads; ++i) {
        kernels::strided_copy<T>({.shape = {queries, count},
                                  .from = y + i / heads * queries * width + i % heads * size,
                                  .from_strides = {width, 1},
                                  .to = {weights.mutable_data<T>() + i * queries * keys + first},
                                  .to_strides = {keys, 1}});
      }
    }
    return weights;
  });
}

}  // namespace dikkat
