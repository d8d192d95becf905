#pragma once

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/recurrent.h"
#include "tests/gradcheck/case.h"

// The case of the loop over time.
namespace dikkat::gradcheck {

template <>
struct GradCase<Op::lstm> {
  /// What is part of the result: h of all steps, and c after the last one.
  struct Parts {
    bool h = true, c = true;
  };
  /// Which operands there are besides the sums and the weight, in the order bias, h0, c0.
  struct Given {
    bool bias = true, h0 = true, c0 = true;
  };
  static Tensor joined(Parts parts, Tensor h, Tensor c) {
    const auto flat = [](Tensor x) { return reshape(x, {x.size()}); };
    return !parts.h ? c : !parts.c ? h : concat(std::vector{flat(h), flat(c)}, 0);
  }
  /// The operand that `is_given` says is next, or none.
  static Tensor next(std::span<const Tensor>& rest, bool is_given) {
    if (!is_given) {
      return {};
    }
    const Tensor first = rest.front();
    rest = rest.subspan(1);
    return first;
  }
  static Function op(Given given, Parts parts) {
    return [=](Tape&, std::span<const Tensor> t) {
      auto rest = t.subspan(2);
      const Tensor bias = next(rest, given.bias), h0 = next(rest, given.h0), c0 = next(rest, given.c0);
      const LstmStates made = lstm(t[0], t[1], bias, h0, c0);
      return joined(parts, made.h, made.last_c);
    };
  }
  static Function definition(Given given, Parts parts) {
    return [=](Tape& tape, std::span<const Tensor> t) {
      auto rest = t.subspan(2);
      const Tensor bias = next(rest, given.bias), h0 = next(rest, given.h0), c0 = next(rest, given.c0);
      const index hidden = t[1].shape()[1];
      const Shape state{t[0].shape()[0], hidden};
      const Tensor zeros = constant(tape, t[0].dtype(), state, std::vector<double>(static_cast<std::size_t>(state.size()), 0.0));
      Tensor h = h0 ? h0 : zeros, c = c0 ? c0 : zeros;
      std::vector<Tensor> all;
      for (index step = 0; step < t[0].shape()[1]; ++step) {
        const auto gates = split(select(t[0], 1, step) + linear(h, t[1], bias), 1, hidden);
        c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
        h = sigmoid(gates[3]) * tanh(c);
        all.push_back(h);
      }
      return joined(parts, stack(all, 1), c);
    };
  }
  static Sample sample(std::string name, index batch, index time, index hidden, Given given, Parts parts) {
    Sample s{std::move(name), {operand({batch, time, 4 * hidden}, 1), operand({4 * hidden, hidden}, 2, -1, 1)}, op(given, parts), {}, {}};
    if (given.bias) {
      s.operands.push_back(operand({4 * hidden}, 3));
    }
    for (const bool is_given : {given.h0, given.c0}) {
      if (is_given) {
        s.operands.push_back(operand({batch, hidden}, 4 + s.operands.size(), -1, 1));
      }
    }
    return s;
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    const auto add_sample = [&](std::string name, index batch, index time, index hidden, Given given, Parts parts) {
      samples.push_back(sample(std::move(name), batch, time, hidden, given, parts));
      samples.back().definition = definition(given, parts);
    };
    add_sample("all operands and results", 2, 3, 2, {}, {});
    add_sample("only h, from zeros", 3, 4, 2, {.bias = false, .h0 = false, .c0 = false}, {.c = false});
    add_sample("only the last c", 2, 3, 3, {.h0 = false}, {.h = false});
    add_sample("one step, from h0", 2, 1, 3, {.c0 = false}, {});
    add_sample("one sequence, from c0", 1, 5, 1, {.bias = false, .h0 = false}, {});
    return samples;
  }
  static std::vector<Sample> ragged() {
    return {sample("17 sequences, hidden 33", 17, 2, 33, {}, {}), sample("hidden 16", 2, 3, 16, {}, {}),
            sample("hidden 19", 3, 2, 19, {.h0 = false, .c0 = false}, {.c = false})};
  }
  static std::vector<Misfit> misfits() {
    return {{"a weight of three gates", [](Tape& t) { lstm(some(t, {2, 3, 12}), some(t, {9, 3})); }},
            {"a weight of rank 1", [](Tape& t) { lstm(some(t, {2, 3, 12}), some(t, {12})); }},
            {"sums of another width", [](Tape& t) { lstm(some(t, {2, 3, 8}), some(t, {12, 3})); }},
            {"sums of rank 2", [](Tape& t) { lstm(some(t, {3, 12}), some(t, {12, 3})); }},
            {"no steps", [](Tape& t) { lstm(some(t, {2, 0, 12}), some(t, {12, 3})); }},
            {"a bias of another size", [](Tape& t) { lstm(some(t, {2, 3, 12}), some(t, {12, 3}), some(t, {3})); }},
            {"h0 of another batch", [](Tape& t) { lstm(some(t, {2, 3, 12}), some(t, {12, 3}), {}, some(t, {1, 3})); }},
            {"c0 of another width", [](Tape& t) { lstm(some(t, {2, 3, 12}), some(t, {12, 3}), {}, {}, some(t, {2, 4})); }}};
  }
};

}  // namespace dikkat::gradcheck
