#pragma once

#include <limits>
#include <optional>

#include "autograd/ops/basic.h"
#include "autograd/tape/gradient_check.h"
#include "autograd/tape/parameters.h"
#include "tests/gradcheck/case.h"

namespace dikkat::gradcheck {

/// How operands are given to the op.
enum class Feed { inputs, activations, parameters };
inline constexpr Feed kFeeds[] = {Feed::inputs, Feed::activations, Feed::parameters};
inline std::string name_of(Feed feed) { return feed == Feed::inputs ? "inputs" : feed == Feed::activations ? "activations" : "parameters"; }

/// The parts of a run besides forward, and backward of a random dy.
struct Options {
  Feed feed = Feed::inputs;
  unsigned frozen = 0;             // bit i: operand i needs no gradient
  unsigned joined = 0;             // bit i: slot i holds the operand of the first such slot
  std::optional<float> prefill{};  // parameters: their gradients hold this already, and are to be added to
  bool twice = false;              // the op is called twice on the same operands: gradients double
  bool nan = false;                // all values are NaN, so that this tape writes NaN everywhere
};

template <class T>
struct Outcome {
  std::vector<T> y;
  std::vector<std::vector<T>> gradients;  // by operand; empty if none was written
  bool y_needs_gradient = false;
};

/// The dy that every run of a result of this size takes.
inline std::vector<float> random_dy(index size) { return converted<float>(gradient_check_dy(size)); }

template <class T>
std::vector<T> copy_of(const T* from, index n) {
  return from == nullptr ? std::vector<T>{} : std::vector<T>(from, from + n);
}

/// Runs `f` once on a tape that has just been reset, and resets it.
template <class T>
Outcome<T> run(Tape& tape, const Sample& sample, const Function& f, const Options& o = {}) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto n = sample.operands.size();
  // Parameters come from a store.
  ParameterStore store(kDType<T>);
  std::vector<Parameter> parameters;
  std::vector<ParameterStore::Entry*> entries;
  if (o.feed == Feed::parameters) {
    for (std::size_t i = 0; i < n; ++i) {
      parameters.push_back(store.add(concat("p", i), sample.operands[i].shape, Init::zeros(), Decay::no, Role::vector));
      if ((o.frozen >> i & 1U) != 0) {
        store.freeze(concat("p", i));
      }
    }
    store.allocate(0);
  }
  // Give each operand its values, as a parameter, an input or an activation.
  std::vector<Tensor> slots(n);
  std::vector<Tensor> leaves(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Operand& operand = sample.operands[i];
    const bool needs = (o.frozen >> i & 1U) == 0;
    const auto values = o.nan ? std::vector<T>(operand.values.size(), nan) : converted<T>(operand.values);
    if (o.feed == Feed::parameters) {
      auto& entry = store.entry(concat("p", i));
      std::copy(values.begin(), values.end(), static_cast<T*>(entry.record.data));
      if (needs) {
        std::fill_n(static_cast<T*>(entry.gradient.data), entry.size(), o.prefill ? static_cast<T>(*o.prefill) : nan);
        entry.gradient.written = o.prefill.has_value();
      }
      entries.push_back(&entry);
      slots[i] = i == 0 ? tape.use(parameters[i]) : Tensor(parameters[i]);
    } else {
      leaves[i] = tape.input<T>(operand.shape, values, needs);
      slots[i] = o.feed == Feed::activations ? scale(leaves[i], 1) : leaves[i];
    }
  }
  // Let joined slots share one operand.
  for (std::size_t i = 0, first = n; i < n; ++i) {
    if ((o.joined >> i & 1U) != 0) {
      first = std::min(first, i);
      slots[i] = o.feed == Feed::parameters && i != first ? Tensor(parameters[first]) : slots[first];
    }
  }

  // Run forward and backward, and copy the results.
  Outcome<T> outcome;
  Tensor y = f(tape, slots);
  if (o.twice) {
    y = add(y, f(tape, slots));
  }
  outcome.y = copy_of(y.data<T>(), y.size());
  outcome.y_needs_gradient = y.needs_gradient();
  outcome.gradients.resize(n);
  if (y.needs_gradient()) {
    const auto dy = o.nan ? std::vector<T>(static_cast<std::size_t>(y.size()), nan) : converted<T>(random_dy(y.size()));
    tape.backward(y, tape.input<T>(y.shape(), dy));
    for (std::size_t i = 0; i < n; ++i) {
      const index size = sample.operands[i].shape.size();
      const Tensor leaf = o.feed == Feed::parameters ? entries[i]->tensor() : leaves[i];
      outcome.gradients[i] = leaf.needs_gradient() ? copy_of(tape.gradient<T>(leaf), size) : std::vector<T>{};
    }
  }
  tape.reset();
  return outcome;
}

template <class T>
Outcome<T> run(const Sample& sample, const Function& f, const Options& o = {}) {
  Tape tape;
  return run<T>(tape, sample, f, o);
}

/// Central differences of <dy, y> with respect to every element of every operand.
inline std::vector<std::vector<double>> numeric_gradients(const Sample& sample) {
  std::vector<CheckedOperand> operands;
  for (const Operand& operand : sample.operands) {
    operands.push_back({operand.shape, converted<double>(operand.values)});
  }
  return dikkat::numeric_gradients(sample.op, operands);
}

}  // namespace dikkat::gradcheck
