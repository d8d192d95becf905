#pragma once

#include <cmath>

#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "tests/gradcheck/case.h"

namespace dikkat::gradcheck {

/// One way to call attention: the sizes, the tensors that hold q, k and v, the keys that are seen, and the dropout.
struct AttentionCall {
  enum class Layout {
    separate,   // three tensors
    packed,     // one (B, T, 3C): self_attention
    packed_kv,  // q, and one (B, T, 2C)
    gaps,       // one (B, T, 3C + 5), with unused columns before, between and behind
    same_qk,    // one (B, T, 2C): q and k are the same columns
  };
  enum class Bounds { none, padding, windows, blind };

  const char* name;
  index batch, heads, queries, keys, head_size;
  Layout layout = Layout::separate;
  bool causal = false;
  index query_offset = 0;
  Bounds bounds = Bounds::none;
  double dropout = 0;
  index first_batch = 0;
  std::optional<double> scale{};
  index key_heads = 0;  // 0: as many as heads
  bool rotary = false;  // with angles of no pattern
  index window = 0;

  index width() const { return heads * head_size; }
  index key_width() const { return (key_heads == 0 ? heads : key_heads) * head_size; }
  std::vector<Operand> operands() const {
    const index C = width();
    const index K = key_width();
    switch (layout) {
      case Layout::separate: return {operand({batch, queries, C}, 1), operand({batch, keys, K}, 2), operand({batch, keys, K}, 3)};
      case Layout::packed: return {operand({batch, queries, C + 2 * K}, 1)};
      case Layout::packed_kv: return {operand({batch, queries, C}, 1), operand({batch, keys, 2 * K}, 2)};
      case Layout::gaps: return {operand({batch, queries, C + 2 * K + 5}, 1)};
      case Layout::same_qk: return {operand({batch, queries, 2 * C}, 1)};
    }
    return {};
  }
  std::array<HeadColumns, 3> columns(std::span<const Tensor> t) const {
    const index C = width();
    const index K = key_width();
    switch (layout) {
      case Layout::separate: return {{{t[0], 0}, {t[1], 0}, {t[2], 0}}};
      case Layout::packed: return {{{t[0], 0}, {t[0], C}, {t[0], C + K}}};
      case Layout::packed_kv: return {{{t[0], 0}, {t[1], 0}, {t[1], K}}};
      case Layout::gaps: return {{{t[0], 2 * K + 4}, {t[0], 1}, {t[0], K + 2}}};
      case Layout::same_qk: return {{{t[0], 0}, {t[0], 0}, {t[0], C}}};
    }
    return {};
  }

  /// The keys that query i of batch b sees according to its bounds.
  std::pair<index, index> interval(index b, index i) const {
    switch (bounds) {
      case Bounds::none: return {0, keys};
      case Bounds::padding: return {0, std::max<index>(1, keys - b)};
      case Bounds::windows: return {std::min(keys, std::max<index>(0, i - 2 - b)), std::min(keys, i + 2)};
      case Bounds::blind:
        return i % 3 == 1 ? std::pair{keys / 2, keys / 2} : i % 3 == 2 ? std::pair{keys, index{0}} : std::pair{index{0}, keys - 1};
    }
    return {};
  }
  bool sees(index b, index i, index key) const {
    const auto [first, last] = interval(b, i);
    return first <= key && key < last && (!causal || key - i <= query_offset) && (window == 0 || query_offset + i - key < window);
  }

  /// The angle of a position for numbers d and d + head_size / 2.
  static double angle(index position, index d) { return 0.7 * static_cast<double>(position) - 1.3 * static_cast<double>(d); }
  /// The numbers of all positions: `at(position, d)` for d in the first half of a head, and again for the second half.
  template <class F>
  Tensor by_position(Tape& tape, DType dtype, F&& at) const {
    std::vector<double> values;
    for (index t = 0; t < keys; ++t) {
      for (index d = 0; d < head_size; ++d) {
        values.push_back(at(t, d));
      }
    }
    return constant(tape, dtype, {keys, head_size}, values);
  }
  Tensor rotation(Tape& tape, DType dtype) const {
    const index half = head_size / 2;
    return by_position(tape, dtype, [=](index t, index d) { return d < half ? std::cos(angle(t, d)) : std::sin(angle(t, d - half)); });
  }
  /// x (keys, head_size), rotated.
  Tensor rotated(Tape& tape, Tensor x) const {
    const index half = head_size / 2;
    const Tensor parts[] = {dikkat::scale(slice(x, 1, half, half), -1), slice(x, 1, 0, half)};
    const Tensor cosines = by_position(tape, x.dtype(), [=](index t, index d) { return std::cos(angle(t, d % half)); });
    const Tensor sines = by_position(tape, x.dtype(), [=](index t, index d) { return std::sin(angle(t, d % half)); });
    return add(multiply(x, cosines), multiply(dikkat::concat(std::span<const Tensor>(parts), 1), sines));
  }

  RandomStream stream() const { return {5, "attention", 2}; }
  AttentionOptions options(Tape& tape, DType dtype) const {
    AttentionOptions o{.heads = heads,
                       .head_size = head_size,
                       .key_heads = key_heads,
                       .rotation = rotary ? rotation(tape, dtype) : Tensor{},
                       .scale = scale,
                       .causal = causal,
                       .query_offset = query_offset,
                       .window = window,
                       .dropout = dropout,
                       .stream = stream(),
                       .first_batch = first_batch};
    if (bounds != Bounds::none) {
      std::vector<std::int32_t> first;
      std::vector<std::int32_t> last;
      for (index b = 0; b < batch; ++b) {
        for (index i = 0; i < queries; ++i) {
          first.push_back(static_cast<std::int32_t>(interval(b, i).first));
          last.push_back(static_cast<std::int32_t>(interval(b, i).second));
        }
      }
      o.key_begin = ids(tape, {batch, queries}, first);
      o.key_end = ids(tape, {batch, queries}, last);
    }
    return o;
  }

  Tensor op(Tape& tape, std::span<const Tensor> t) const {
    if (layout == Layout::packed) {
      return self_attention(t[0], options(tape, t[0].dtype()));
    }
    const auto [q, k, v] = columns(t);
    return attention(q, k, v, options(tape, t[0].dtype()));
  }

  /// Head by head, with whole (queries, keys) matrices: e = sees * exp(scale q k^T), w = dropped(e / row sums of e), y = w v.
  Tensor definition(Tape& tape, std::span<const Tensor> t) const {
    const auto operands = columns(t);
    const DType dtype = t[0].dtype();
    std::vector<Tensor> rows;
    for (index b = 0; b < batch; ++b) {
      std::vector<Tensor> beside;
      for (index h = 0; h < heads; ++h) {
        const index key_head = h / (width() / key_width());
        const auto head = [&](const HeadColumns& c, index number, index time) {
          return reshape(slice(slice(c.x, 0, b, 1), 2, c.column + number * head_size, head_size), {time, head_size});
        };
        const auto compared = [&](Tensor x) { return rotary ? rotated(tape, x) : x; };
        // Build the matrices of keys that are seen and of weights that are kept.
        const auto n = static_cast<std::size_t>(queries * keys);
        std::vector<double> seen(n);
        std::vector<double> blind(n, 1.0);  // rows that see nothing are divided by 1
        std::vector<double> kept(n, 1.0);
        const kernels::AttentionShape shape{
            .batch = batch, .heads = heads, .queries = queries, .keys = keys, .stream = stream(), .first_batch = first_batch};
        for (index i = 0; i < queries; ++i) {
          for (index j = 0; j < keys; ++j) {
            const auto at = static_cast<std::size_t>(i * keys + j);
            seen[at] = sees(b, i, j) ? 1 : 0;
            for (index l = 0; l < keys; ++l) {
              blind[at] = sees(b, i, l) ? 0 : blind[at];
            }
            if (dropout > 0) {
              const auto word = stream().word(kernels::attention_dropout_element(shape, b, h, i, j));
              kept[at] = word < kernels::dropout_threshold(dropout) ? 0 : 1 / (1 - dropout);
            }
          }
        }
        // Compute the head with whole matrices.
        const Shape square{queries, keys};
        const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(head_size)));
        const Tensor scores =
            dikkat::scale(matmul(compared(head(operands[0], h, queries)), compared(head(operands[1], key_head, keys)), true), factor);
        const Tensor e = multiply(exp(scores), constant(tape, dtype, square, seen));
        const Tensor sums = add(matmul(e, ones(tape, dtype, {keys, keys})), constant(tape, dtype, square, blind));
        const Tensor w = multiply(multiply(e, power(sums, -1)), constant(tape, dtype, square, kept));
        beside.push_back(reshape(matmul(w, head(operands[2], key_head, keys)), {1, queries, head_size}));
      }
      rows.push_back(dikkat::concat(std::span<const Tensor>(beside), 2));
    }
    return dikkat::concat(std::span<const Tensor>(rows), 0);
  }

  Sample sample() const {
    return {name,
            operands(),
            [c = *this](Tape& tape, std::span<const Tensor> t) { return c.op(tape, t); },
            [c = *this](Tape& tape, std::span<const Tensor> t) { return c.definition(tape, t); },
            {}};
  }
};

template <>
struct GradCase<Op::attention> {
  using Layout = AttentionCall::Layout;
  using Bounds = AttentionCall::Bounds;

  static std::vector<Sample> of(const std::vector<AttentionCall>& calls) {
    std::vector<Sample> samples;
    for (const AttentionCall& call : calls) {
      samples.push_back(call.sample());
    }
    return samples;
  }
  static std::vector<Sample> samples() {
    return of({
        {.name = "separate", .batch = 2, .heads = 2, .queries = 3, .keys = 3, .head_size = 5},
        {.name = "causal", .batch = 2, .heads = 2, .queries = 4, .keys = 4, .head_size = 1, .causal = true},
        {.name = "packed", .batch = 2, .heads = 2, .queries = 4, .keys = 4, .head_size = 5, .layout = Layout::packed},
        {.name = "packed, causal",
         .batch = 1,
         .heads = 1,
         .queries = 5,
         .keys = 5,
         .head_size = 16,
         .layout = Layout::packed,
         .causal = true},
        {.name = "cross, packed keys and values",
         .batch = 2,
         .heads = 1,
         .queries = 2,
         .keys = 5,
         .head_size = 4,
         .layout = Layout::packed_kv},
        {.name = "fewer queries, behind the keys before them",
         .batch = 1,
         .heads = 2,
         .queries = 2,
         .keys = 6,
         .head_size = 3,
         .causal = true,
         .query_offset = 4},
        {.name = "more queries than keys",
         .batch = 1,
         .heads = 1,
         .queries = 6,
         .keys = 2,
         .head_size = 3,
         .causal = true,
         .query_offset = -2},
        {.name = "far behind all keys",
         .batch = 1,
         .heads = 1,
         .queries = 2,
         .keys = 3,
         .head_size = 2,
         .causal = true,
         .query_offset = INT64_MAX},
        {.name = "padding", .batch = 3, .heads = 1, .queries = 4, .keys = 4, .head_size = 2, .bounds = Bounds::padding},
        {.name = "windows, causal",
         .batch = 2,
         .heads = 1,
         .queries = 6,
         .keys = 6,
         .head_size = 2,
         .layout = Layout::packed,
         .causal = true,
         .bounds = Bounds::windows},
        {.name = "queries that see no key", .batch = 1, .heads = 2, .queries = 7, .keys = 4, .head_size = 2, .bounds = Bounds::blind},
        {.name = "columns with gaps",
         .batch = 2,
         .heads = 2,
         .queries = 3,
         .keys = 3,
         .head_size = 2,
         .layout = Layout::gaps,
         .causal = true},
        {.name = "queries that are the keys", .batch = 2, .heads = 2, .queries = 3, .keys = 3, .head_size = 2, .layout = Layout::same_qk},
        {.name = "dropout", .batch = 2, .heads = 2, .queries = 3, .keys = 5, .head_size = 2, .dropout = 0.4, .first_batch = 3},
        {.name = "dropout, packed, causal",
         .batch = 1,
         .heads = 2,
         .queries = 6,
         .keys = 6,
         .head_size = 2,
         .layout = Layout::packed,
         .causal = true,
         .dropout = 0.25},
        {.name = "a scale of its own", .batch = 1, .heads = 1, .queries = 3, .keys = 3, .head_size = 4, .scale = 0.1},
        {.name = "grouped", .batch = 2, .heads = 4, .queries = 3, .keys = 5, .head_size = 3, .key_heads = 2},
        {.name = "one head of keys, packed, causal",
         .batch = 2,
         .heads = 3,
         .queries = 4,
         .keys = 4,
         .head_size = 2,
         .layout = Layout::packed,
         .causal = true,
         .key_heads = 1},
        {.name = "grouped, with gaps, dropout",
         .batch = 1,
         .heads = 4,
         .queries = 3,
         .keys = 3,
         .head_size = 2,
         .layout = Layout::gaps,
         .dropout = 0.3,
         .key_heads = 2},
        {.name = "rotary", .batch = 2, .heads = 2, .queries = 4, .keys = 4, .head_size = 6, .rotary = true},
        {.name = "rotary, grouped, packed, causal",
         .batch = 2,
         .heads = 4,
         .queries = 4,
         .keys = 4,
         .head_size = 2,
         .layout = Layout::packed,
         .causal = true,
         .key_heads = 2,
         .rotary = true},
        {.name = "rotary, queries that are the keys",
         .batch = 1,
         .heads = 2,
         .queries = 3,
         .keys = 3,
         .head_size = 4,
         .layout = Layout::same_qk,
         .rotary = true},
        {.name = "several tiles and chunks, grouped, rotary",
         .batch = 1,
         .heads = 2,
         .queries = 150,
         .keys = 150,
         .head_size = 2,
         .layout = Layout::packed,
         .causal = true,
         .key_heads = 1,
         .rotary = true},
        {.name = "a window, rotary, grouped",
         .batch = 2,
         .heads = 2,
         .queries = 6,
         .keys = 6,
         .head_size = 4,
         .layout = Layout::packed,
         .causal = true,
         .key_heads = 1,
         .rotary = true,
         .window = 3},
        {.name = "a window behind keys, with padding",
         .batch = 2,
         .heads = 1,
         .queries = 3,
         .keys = 8,
         .head_size = 2,
         .causal = true,
         .query_offset = 5,
         .bounds = Bounds::padding,
         .window = 4},
        {.name = "several tiles, a window, dropout",
         .batch = 1,
         .heads = 1,
         .queries = 150,
         .keys = 150,
         .head_size = 2,
         .layout = Layout::packed,
         .causal = true,
         .dropout = 0.25,
         .window = 40},
        {.name = "several tiles", .batch = 1, .heads = 1, .queries = 70, .keys = 131, .head_size = 2, .causal = true, .query_offset = 61},
        {.name = "several tiles, windows, dropout",
         .batch = 1,
         .heads = 1,
         .queries = 130,
         .keys = 130,
         .head_size = 1,
         .layout = Layout::packed,
         .bounds = Bounds::windows,
         .dropout = 0.5},
    });
  }
  static std::vector<Sample> ragged() {
    return of({
        {.name = "1 by 129 of 64", .batch = 2, .heads = 3, .queries = 1, .keys = 129, .head_size = 64},
        {.name = "7 of 1", .batch = 3, .heads = 5, .queries = 7, .keys = 7, .head_size = 1, .layout = Layout::packed, .causal = true},
        {.name = "15 of 5", .batch = 2, .heads = 3, .queries = 15, .keys = 15, .head_size = 5, .layout = Layout::packed},
        {.name = "16 of 16", .batch = 2, .heads = 2, .queries = 16, .keys = 16, .head_size = 16, .layout = Layout::packed, .causal = true},
        {.name = "17 by 63 of 20", .batch = 2, .heads = 2, .queries = 17, .keys = 63, .head_size = 20, .causal = true, .query_offset = 46},
        {.name = "63 of 64", .batch = 1, .heads = 2, .queries = 63, .keys = 63, .head_size = 64, .layout = Layout::packed, .causal = true},
        {.name = "65 of 20, dropout",
         .batch = 2,
         .heads = 2,
         .queries = 65,
         .keys = 65,
         .head_size = 20,
         .layout = Layout::packed,
         .causal = true,
         .dropout = 0.1},
        {.name = "129 of 16, windows", .batch = 2, .heads = 2, .queries = 129, .keys = 129, .head_size = 16, .bounds = Bounds::windows},
        {.name = "129 by 65 of 64, some blind",
         .batch = 1,
         .heads = 2,
         .queries = 129,
         .keys = 65,
         .head_size = 64,
         .bounds = Bounds::blind,
         .dropout = 0.3},
        {.name = "2 of 64, grouped, rotary",
         .batch = 2,
         .heads = 4,
         .queries = 2,
         .keys = 2,
         .head_size = 64,
         .causal = true,
         .key_heads = 2,
         .rotary = true},
        {.name = "300 of 48, three to a key, rotary",
         .batch = 1,
         .heads = 6,
         .queries = 300,
         .keys = 300,
         .head_size = 48,
         .layout = Layout::packed,
         .causal = true,
         .key_heads = 2,
         .rotary = true},
        {.name = "65 of 10, grouped, rotary, dropout",
         .batch = 2,
         .heads = 4,
         .queries = 65,
         .keys = 65,
         .head_size = 10,
         .layout = Layout::packed,
         .dropout = 0.2,
         .key_heads = 1,
         .rotary = true},
        {.name = "129 of 5, with gaps",
         .batch = 1,
         .heads = 3,
         .queries = 129,
         .keys = 129,
         .head_size = 5,
         .layout = Layout::gaps,
         .causal = true},
    });
  }
  static std::vector<Misfit> misfits() {
    const auto call = [](Shape q, Shape k, Shape v, AttentionOptions o) {
      return [=](Tape& t) { attention({some(t, q)}, {some(t, k)}, {some(t, v)}, o); };
    };
    const auto bounded = [](Shape shape, std::vector<std::int32_t> first, std::vector<std::int32_t> last) {
      return [=](Tape& t) {
        attention({some(t, {1, 2, 4})}, {some(t, {1, 3, 4})}, {some(t, {1, 3, 4})},
                  {.heads = 2, .head_size = 2, .key_begin = ids(t, shape, first), .key_end = ids(t, shape, last)});
      };
    };
    return {{"too few columns", call({1, 2, 3}, {1, 2, 4}, {1, 2, 4}, {.heads = 2, .head_size = 2})},
            {"of rank 2", call({2, 4}, {2, 4}, {2, 4}, {.heads = 2, .head_size = 2})},
            {"other batch", call({1, 2, 4}, {2, 2, 4}, {2, 2, 4}, {.heads = 2, .head_size = 2})},
            {"more values than keys", call({1, 2, 4}, {1, 2, 4}, {1, 3, 4}, {.heads = 2, .head_size = 2})},
            {"no heads", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 0, .head_size = 2})},
            {"heads of keys that do not divide", call({1, 2, 6}, {1, 2, 4}, {1, 2, 4}, {.heads = 3, .head_size = 2, .key_heads = 2})},
            {"a negative number of heads of keys", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 2, .head_size = 2, .key_heads = -1})},
            {"a negative window", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 2, .head_size = 2, .causal = true, .window = -1})},
            {"a window without a causal mask", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 2, .head_size = 2, .window = 2})},
            {"a rotation of too few positions",
             [](Tape& t) {
               const Tensor x = some(t, {1, 3, 4});
               attention({x}, {x}, {x}, {.heads = 2, .head_size = 2, .rotation = some(t, {2, 2})});
             }},
            {"a rotation of odd heads",
             [](Tape& t) {
               const Tensor x = some(t, {1, 3, 3});
               attention({x}, {x}, {x}, {.heads = 1, .head_size = 3, .rotation = some(t, {3, 3})});
             }},
            {"a rotation of more keys than queries",
             [](Tape& t) {
               attention({some(t, {1, 2, 2})}, {some(t, {1, 3, 2})}, {some(t, {1, 3, 2})},
                         {.heads = 1, .head_size = 2, .rotation = some(t, {3, 2})});
             }},
            {"no head size", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 2})},
            {"dropout 1", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 2, .head_size = 2, .dropout = 1})},
            {"dropout NaN", call({1, 2, 4}, {1, 2, 4}, {1, 2, 4}, {.heads = 2, .head_size = 2, .dropout = std::nan("")})},
            {"columns that overlap in part",
             [](Tape& t) {
               const Tensor x = some(t, {1, 2, 8});
               attention({x, 0}, {x, 2}, {x, 4}, {.heads = 2, .head_size = 2});
             }},
            {"a column that overflows",
             [](Tape& t) {
               const Tensor x = some(t, {1, 2, 4});
               attention({x, INT64_MAX}, {x}, {x}, {.heads = 1, .head_size = 2});
             }},
            {"a column before the first",
             [](Tape& t) {
               const Tensor x = some(t, {1, 2, 4});
               attention({x, -1}, {x}, {x}, {.heads = 1, .head_size = 2});
             }},
            {"bounds for too few queries", bounded({1, 1}, {0}, {1})},
            {"a bound past the keys", bounded({1, 2}, {0, 0}, {1, 4})},
            {"a negative bound", bounded({1, 2}, {0, -1}, {1, 1})},
            {"bounds of f32", [](Tape& t) {
               const Tensor x = some(t, {1, 2, 4});
               attention({x}, {x}, {x}, {.heads = 2, .head_size = 2, .key_begin = some(t, {1, 2})});
             }}};
  }
};

}  // namespace dikkat::gradcheck
