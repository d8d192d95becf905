#include "autograd/tape/recompute.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "autograd/base/parallel.h"

namespace dikkat {

Recomputation::Recomputation(Tape& tape, Recording recording)
    : outer_(tape), inner_(*(tape.inner_ ? tape.inner_ : tape.inner_ = std::unique_ptr<Tape>(new Tape(tape.pool_)))) {
  require(!is_inner(tape), "recompute: called within another recompute(), expected one at a time");
  inner_.reset();
  inner_.observe(tape.observer_);
  inner_.watch_gradients(tape.watcher_);
  inner_.counts_uses_ = tape.recording() && recording == Recording::off;
  inner_.enter(tape.region_);
  inner_.recording_ = recording;
}

bool Recomputation::is_inner(const Tape& tape) { return &tape.pool_ != &tape.own_pool_; }

Tensor Recomputation::enter(Tensor x) {
  if (!x) {
    return x;
  }
  const Tensor entered = inner_.view(x, x.shape());
  if (x.needs_gradient() && inner_.recording()) {
    inner_.keep_gradient(entered);
  }
  return entered;
}

Tensor Recomputation::leave(Tensor y) {
  if (!y) {
    return y;
  }
  const Tensor copy = outer_.make(y.shape(), y.dtype());
  constexpr index kBlock = 1 << 16;  // bytes
  parallel_blocks(y.size() * static_cast<index>(size_of(y.dtype())), kBlock, [&](index begin, index end) {
    std::memcpy(static_cast<std::byte*>(copy.record()->data) + begin, static_cast<const std::byte*>(y.record()->data) + begin,
                static_cast<std::size_t>(end - begin));
  });
  return copy;
}

void Recomputation::backward(std::span<const Tensor> outputs, std::span<const Tensor> made, std::span<const Tensor> entered,
                             std::span<const Tensor> inputs, Gradients& gradients) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) {
      gradients.pass(outputs[i], made[i]);
      outer_.release_gradient(outputs[i]);
    }
  }
  // An input may have a gradient already. The inner tape must add to it: matrix products start their sums from it, so adding later would
  // change bits.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (entered[i] && entered[i].needs_gradient() && entered[i].record()->gradient == nullptr) {
      std::swap(entered[i].record()->gradient, inputs[i].record()->gradient);
    }
  }
  inner_.run_nodes();
  if (outer_.observed()) {
    outer_.observer_->backward_begins();  // the inner nodes have reported their own time; the following time belongs to this node
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!entered[i]) {
      continue;
    }
    if (inputs[i].record()->gradient == nullptr && inputs[i].record()->parameter == nullptr) {
      std::swap(entered[i].record()->gradient, inputs[i].record()->gradient);
    } else {  // a parameter, or the same input twice
      gradients.pass(entered[i], inputs[i]);
    }
  }
}

}  // namespace dikkat
