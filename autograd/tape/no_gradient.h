#pragma once

#include "autograd/tape/tape.h"

// Parts of a computation that no gradient flows through.
namespace dikkat {

/// Returns x as a constant: a tensor of the same tape that shows x's memory and takes no gradient. Nothing is copied or recorded. If x
/// needs no gradient, it is x itself. Throws Error for a parameter, for which Tape::use() makes a tensor, and if x has
/// Lifetime::until_consumed.
Tensor detach(Tensor x);

/// While it lives, the tape does not record: results of ops and new inputs need no gradient, and no closures are kept. For evaluation
/// within training, targets of distillation and moving averages:
///
///   Tensor target;
///   {
///     const NoGradient guard(tape);
///     target = teacher(pass, x);  // gets no gradient, and neither do the teacher's parameters
///   }
///   tape.backward(mse_loss(student(pass, x), target));
///
/// Results stay in the tape's memory until reset(). Guards nest, and end in reverse order. Within recompute(), the guard is for the tape
/// that its function gets.
class NoGradient {
 public:
  explicit NoGradient(Tape& tape) : tape_(tape), recording_(tape.recording_), counts_uses_(tape.counts_uses_) {
    tape.recording_ = Recording::off;
    tape.counts_uses_ = false;  // no node will read the parameters, so their gradients do not wait for one
  }
  ~NoGradient() {
    tape_.recording_ = recording_;
    tape_.counts_uses_ = counts_uses_;
  }
  NoGradient(const NoGradient&) = delete;
  NoGradient& operator=(const NoGradient&) = delete;

 private:
  Tape& tape_;
  Recording recording_;
  bool counts_uses_;
};

}  // namespace dikkat
