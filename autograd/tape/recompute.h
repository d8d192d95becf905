#pragma once

#include <algorithm>
#include <array>

#include "autograd/tape/tape.h"

namespace dikkat {

/// Used by recompute(): the inner tape of a tape, on which the recomputed part runs. The inner tape is cleared when this is destroyed.
class Recomputation {
 public:
  Recomputation(Tape& tape, Recording recording);
  ~Recomputation() { inner_.forget(); }
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  /// Returns whether a tape is the inner tape of another.
  static bool is_inner(const Tape& tape);
  Tape& tape() { return inner_; }
  /// Returns x on the inner tape, in the same memory; null for null.
  Tensor enter(Tensor x);
  /// Returns a copy of y on the outer tape; null for null.
  Tensor leave(Tensor y);
  /// Propagates the gradients of `outputs` (outer tape) through `made` and `entered` (inner tape) to `inputs` (outer tape).
  void backward(std::span<const Tensor> outputs, std::span<const Tensor> made, std::span<const Tensor> entered,
                std::span<const Tensor> inputs, Gradients& gradients);

 private:
  Tape& outer_;
  Tape& inner_;
};

/// Computes f(tape, inputs) and keeps only the outputs (activation checkpointing). Backward computes everything else again. Outputs and
/// gradients have the same bits as without recomputation. All recomputed parts of a tape use the same memory, so they need that of the
/// largest. On a tape that does not record, only the outputs are kept too. Inputs and outputs may be absent (null). f may use parameters,
/// but no other tensor of the outer tape; it is called twice, so it must be a function of its inputs. It lives in the tape's arena, as
/// backward closures do. Throws Error when called within another recompute().
template <std::size_t kOutputs, std::size_t kInputs, class F>
std::array<Tensor, kOutputs> recompute(Tape& tape, const std::array<Tensor, kInputs>& inputs, F f) {
  const auto needs_gradient = [](Tensor x) { return x && x.needs_gradient(); };
  const bool has_gradients = std::any_of(inputs.begin(), inputs.end(), needs_gradient);
  if (tape.recording() ? !has_gradients : Recomputation::is_inner(tape)) {
    return f(tape, inputs);
  }
  std::array<Tensor, kOutputs> outputs, present{};
  std::size_t count = 0;
  {
    Recomputation inner(tape, Recording::off);
    std::array<Tensor, kInputs> entered;
    std::transform(inputs.begin(), inputs.end(), entered.begin(), [&](Tensor x) { return inner.enter(x); });
    const std::array<Tensor, kOutputs> made = f(inner.tape(), entered);
    tape.begin("recompute");
    std::transform(made.begin(), made.end(), outputs.begin(), [&](Tensor y) { return inner.leave(y); });
    count = static_cast<std::size_t>(std::copy_if(outputs.begin(), outputs.end(), present.begin(), [](Tensor y) { return bool{y}; }) -
                                     present.begin());
  }
  if (!tape.recording()) {
    return outputs;
  }
  const std::span<const Tensor> made_outputs(present.data(), count);
  tape.record(std::span<const Tensor>(inputs), made_outputs, cost_of(inputs, made_outputs), [=, outer = &tape](Gradients& gradients) {
    Recomputation inner(*outer, Recording::on);
    std::array<Tensor, kInputs> entered;
    std::transform(inputs.begin(), inputs.end(), entered.begin(), [&](Tensor x) { return inner.enter(x); });
    const std::array<Tensor, kOutputs> made = f(inner.tape(), entered);
    inner.backward(outputs, made, entered, inputs, gradients);
  });
  return outputs;
}

}  // namespace dikkat
