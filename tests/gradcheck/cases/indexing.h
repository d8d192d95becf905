#pragma once

#include "autograd/ops/indexing.h"
#include "tests/gradcheck/case.h"

// The cases of gather, scatter_add and index_select. tests/ops/indexing_test.cpp has sort and topk.
namespace dikkat::gradcheck {

/// Ids below `extent`, some of them several times.
inline std::vector<std::int32_t> some_ids(index count, index extent, std::uint64_t seed = 1) {
  const RandomStream stream(seed, "test ids", 0);
  std::vector<std::int32_t> values;
  for (index i = 0; i < count; ++i) {
    values.push_back(static_cast<std::int32_t>(stream.word(i) % static_cast<std::uint32_t>(extent)));
  }
  return values;
}

/// Calls f(number of the id, place in x that it chooses) for the ids of a shape, in order. Without `axis`, the place is that of the id.
template <class F>
void for_chosen(const Shape& x, const Shape& chosen, int axis, const std::vector<std::int32_t>& ids, F&& f) {
  for (index at = 0; at < chosen.size(); ++at) {
    index place = 0, rest = at, step = 1;
    for (int k = chosen.rank() - 1; k >= 0; --k) {
      place += step * (k == axis ? ids[static_cast<std::size_t>(at)] : rest % chosen[k]);
      rest /= chosen[k];
      step *= x[k];
    }
    f(static_cast<std::size_t>(at), static_cast<std::size_t>(place));
  }
}

struct Chosen {
  const char* name;
  Shape x, ids;
  int axis;
};
inline const std::vector<Chosen>& small_choices() {
  static const std::vector<Chosen> choices = {
      {"of the first axis", {5, 6}, {4, 6}, 0},          {"of a middle axis", {2, 4, 3}, {2, 7, 3}, 1},
      {"of the last axis", {3, 2, 9}, {3, 2, 5}, 2},     {"one of each row", {6, 5}, {6, 1}, 1},
      {"of a part of x", {3, 4, 5, 2}, {2, 6, 3, 1}, 1}, {"of one axis", {7}, {9}, 0},
      {"as many as there are", {3, 4}, {3, 4}, 0},       {"of an axis of one", {3, 1, 4}, {3, 1, 4}, 1}};
  return choices;
}
inline std::vector<Chosen> ragged_choices() {
  std::vector<Chosen> choices = {{"many of few", {3, 129}, {1000, 129}, 0},
                                 {"few of many", {1000, 17}, {3, 15}, 0},
                                 {"rows", {257, 129}, {257, 1}, 1},
                                 {"several blocks", {129, 257}, {129, 300}, 1},
                                 {"a middle axis", {5, 65, 33}, {5, 70, 33}, 1}};
  for (const index size : kRaggedSizes) {
    choices.push_back({"one axis", {size}, {2 * size}, 0});
  }
  return choices;
}

/// Ragged samples are not compared with plain loops.
inline std::vector<Sample> without_oracle(std::vector<Sample> samples) {
  for (Sample& sample : samples) {
    sample.oracle = {};
  }
  return samples;
}

/// A sample of each choice.
template <class Sampled>
std::vector<Sample> samples_of(const std::vector<Chosen>& choices, Sampled&& sampled) {
  std::vector<Sample> samples;
  for (const Chosen& c : choices) {
    samples.push_back(sampled(c, some_ids(c.ids.size(), c.x[c.axis])));
    samples.back().name = concat(c.name, ": ", c.ids, " of ", c.x);
  }
  return samples;
}

/// Ids that do not fit x, with a call that takes them. `call` gets x, the axis and ids.
template <class Call>
std::vector<Misfit> ids_that_do_not_fit(Call&& call) {
  const auto with = [call](int axis, Shape shape, std::vector<std::int32_t> values) {
    return [=](Tape& t) { call(t, some(t, {3, 5}), axis, ids(t, shape, values)); };
  };
  return {{"no such axis", with(2, {3, 1}, {0, 0, 0})},
          {"another rank", with(1, {1, 3, 1}, {0, 0, 0})},
          {"an id after the last", with(1, {3, 1}, {0, 5, 0})},
          {"a negative id", with(1, {3, 1}, {0, 0, -1})},
          {"ids that are not i32", [call](Tape& t) { call(t, some(t, {3, 5}), 1, some(t, {3, 1})); }},
          {"ids of an axis of none", [call](Tape& t) { call(t, some(t, {3, 0}), 1, ids(t, {3, 1}, {0, 0, 0})); }}};
}

template <>
struct GradCase<Op::gather> {
  static Sample sample(const Chosen& c, const std::vector<std::int32_t>& chosen) {
    const auto op = [c, chosen](Tape& tape, std::span<const Tensor> t) { return gather(t[0], c.axis, ids(tape, c.ids, chosen)); };
    const auto oracle = [c, chosen](std::span<const std::vector<double>> x) {
      std::vector<double> y(chosen.size());
      for_chosen(c.x, c.ids, c.axis, chosen, [&](std::size_t at, std::size_t place) { y[at] = x[0][place]; });
      return y;
    };
    return {"", {operand(c.x, 1)}, op, {}, oracle};
  }
  static std::vector<Sample> samples() { return samples_of(small_choices(), sample); }
  static std::vector<Sample> ragged() { return without_oracle(samples_of(ragged_choices(), sample)); }
  static std::vector<Misfit> misfits() {
    auto all = ids_that_do_not_fit([](Tape&, Tensor x, int axis, Tensor chosen) { gather(x, axis, chosen); });
    all.push_back({"more rows than x", [](Tape& t) { gather(some(t, {3, 5}), 1, ids(t, {4, 1}, {0, 0, 0, 0})); }});
    all.push_back({"of a scalar", [](Tape& t) { gather(some(t, {}), 0, ids(t, {}, {0})); }});
    return all;
  }
};

template <>
struct GradCase<Op::scatter_add> {
  static Sample sample(const Chosen& c, const std::vector<std::int32_t>& chosen) {
    const auto op = [c, chosen](Tape& tape, std::span<const Tensor> t) {
      return scatter_add(t[0], c.axis, ids(tape, c.ids, chosen), t[1]);
    };
    const auto oracle = [c, chosen](std::span<const std::vector<double>> x) {
      std::vector<double> y = x[0];
      for_chosen(c.x, c.ids, c.axis, chosen, [&](std::size_t at, std::size_t place) { y[place] += x[1][at]; });
      return y;
    };
    return {"", {operand(c.x, 1), operand(c.ids, 2)}, op, {}, oracle};
  }
  static std::vector<Sample> samples() { return samples_of(small_choices(), sample); }
  static std::vector<Sample> ragged() { return without_oracle(samples_of(ragged_choices(), sample)); }
  static std::vector<Misfit> misfits() {
    auto all =
        ids_that_do_not_fit([](Tape& t, Tensor x, int axis, Tensor chosen) { scatter_add(x, axis, chosen, some(t, chosen.shape())); });
    all.push_back(
        {"a source of another shape", [](Tape& t) { scatter_add(some(t, {3, 5}), 1, ids(t, {3, 1}, {0, 0, 0}), some(t, {3, 2})); }});
    return all;
  }
};

template <>
struct GradCase<Op::index_select> {
  static Sample sample(Shape shape, int axis, index count) {
    const int along = axis < 0 ? axis + shape.rank() : axis;
    const auto chosen = some_ids(count, shape[along]);
    const auto op = [=](Tape& tape, std::span<const Tensor> t) { return index_select(t[0], axis, ids(tape, {count}, chosen)); };
    const auto oracle = [=](std::span<const std::vector<double>> x) {
      index outer = 1, inner = 1;
      for (int k = 0; k < shape.rank(); ++k) {
        (k < along ? outer : inner) *= k == along ? 1 : shape[k];
      }
      std::vector<double> y;
      for (index o = 0; o < outer; ++o) {
        for (const std::int32_t id : chosen) {
          for (index i = 0; i < inner; ++i) {
            y.push_back(x[0][static_cast<std::size_t>((o * shape[along] + id) * inner + i)]);
          }
        }
      }
      return y;
    };
    return {concat(count, " of axis ", axis, " of ", shape), {operand(shape, 1)}, op, {}, oracle};
  }
  static std::vector<Sample> samples() {
    return {sample({5, 6}, 0, 4), sample({2, 4, 3}, 1, 7), sample({3, 2, 9}, -1, 5), sample({7}, 0, 9), sample({3, 1, 4}, 1, 2)};
  }
  static std::vector<Sample> ragged() {
    std::vector<Sample> samples = {sample({3, 129}, 0, 1000), sample({1000, 17}, 0, 3), sample({129, 257}, 1, 300),
                                   sample({5, 65, 33}, 1, 70)};
    for (std::size_t i = 0; i < std::size(kRaggedSizes); ++i) {
      samples.push_back(sample({kRaggedSizes[i], kRaggedSizes[(3 * i + 2) % std::size(kRaggedSizes)]}, 0, 40));
    }
    return without_oracle(samples);
  }
  static std::vector<Misfit> misfits() {
    const auto with = [](int axis, Shape shape, std::vector<std::int32_t> values) {
      return [=](Tape& t) { index_select(some(t, {3, 5}), axis, ids(t, shape, values)); };
    };
    return {{"no such axis", with(2, {1}, {0})},
            {"ids of two axes", with(0, {1, 1}, {0})},
            {"an id after the last", with(-1, {2}, {0, 5})},
            {"a negative id", with(0, {1}, {-1})},
            {"ids that are not i32", [](Tape& t) { index_select(some(t, {3, 5}), 0, some(t, {2})); }}};
  }
};

}  // namespace dikkat::gradcheck
