#include "autograd/tape/tape.h"

#include <algorithm>
#include <cstring>

namespace dikkat {
namespace {

/// Returns the gradient of a parameter that is trained; null for anything else.
ParameterGradient* trained(Tensor x) {
  ParameterGradient* const gradient = x ? x.record()->parameter : nullptr;
  return gradient != nullptr && gradient->data != nullptr ? gradient : nullptr;
}

}  // namespace

TensorRecord* Tape::new_record(Shape shape, DType dtype) {
  TensorRecord* const record = records_.take();
  record->shape = shape;
  record->dtype = dtype;
  record->tape = this;
  return record;
}

Tensor Tape::make(Shape shape, DType dtype, Lifetime lifetime) {
  TensorRecord* record = new_record(shape, dtype);
  const std::size_t bytes = static_cast<std::size_t>(shape.size()) * size_of(dtype);
  if (lifetime == Lifetime::until_reset) {
    record->data = arena_.allocate(bytes, op_);
  } else {
    stored_ = new (arena_.allocate(sizeof(Leaf), op_, alignof(Leaf))) Leaf{stored_, Tensor(record)};
    record->storage = pool_.acquire(bytes, op_);
    record->data = record->storage->data;
  }
  return Tensor(record);
}

void Tape::release(Tensor x) {
  TensorRecord& record = *x.record();
  if (record.storage != nullptr) {
    pool_.release(record.storage);
    record.storage = nullptr;
    record.data = nullptr;
    record.released = true;
  }
}

Tensor Tape::view(Tensor x, Shape shape) {
  require(shape.size() == x.size(), op_, ": ", x.shape(), " as ", shape, ", expected as many elements");
  TensorRecord* record = new_record(shape, x.dtype());
  record->data = x.record()->data;
  return Tensor(record);
}

Tensor Tape::borrow(Shape shape, DType dtype, const void* data) {
  op_ = "borrow";
  TensorRecord* record = new_record(shape, dtype);
  record->data = const_cast<void*>(data);  // a tensor is written only by the op that makes it
  return Tensor(record);
}

Tensor Tape::use(Tensor parameter) {
  op_ = "use";
  (void)parameter.shape();  // throws Error if it is absent
  TensorRecord* record = records_.take(*parameter.record());
  record->tape = this;
  record->needs_gradient = record->needs_gradient && recording();
  if (!recording() && !counts_uses_) {
    record->parameter = nullptr;  // it stays a constant when the tape records again, and is not counted as a use then
  }
  return Tensor(record);
}

Tensor Tape::copy_in(Shape shape, DType dtype, const void* values, index count, bool needs_gradient) {
  op_ = "input";
  require(!needs_gradient || dtype != DType::i32, "input: i32 ", shape, " with a gradient, expected f32, f64 or bf16: ids have none");
  require(shape.size() == count, "input: ", count, " values for shape ", shape, ", expected ", shape.size());
  const Tensor x = make(shape, dtype);
  if (count > 0) {
    std::memcpy(x.record()->data, values, static_cast<std::size_t>(count) * size_of(dtype));
  }
  if (needs_gradient && recording()) {
    keep_gradient(x);
  }
  return x;
}

const void* Tape::gradient_of(Tensor x, DType asked) const {
  require(x.dtype() == asked, "gradient: of a tensor of ", x.dtype(), ", asked for as ", asked);
  const TensorRecord& record = *x.record();
  if (record.parameter != nullptr) {
    return record.parameter->written ? record.parameter->data : nullptr;
  }
  const Leaf* leaf = leaves_;
  while (leaf != nullptr && leaf->tensor != x) {
    leaf = leaf->previous;
  }
  require(leaf != nullptr, "gradient: of a tensor whose gradient is not kept, expected an input that needs a gradient, or a parameter");
  return record.gradient == nullptr ? nullptr : record.gradient->data;
}

void Tape::keep_gradient(Tensor leaf) {
  leaf.record()->needs_gradient = true;
  leaves_ = new (arena_.allocate(sizeof(Leaf), op_, alignof(Leaf))) Leaf{leaves_, leaf};
}

void Tape::reserve(const Tape& like) {
  arena_.reserve(like.arena_.peak());
  pool_.reserve(like.pool_);
  if (like.inner_) {
    if (!inner_) {
      inner_ = std::unique_ptr<Tape>(new Tape(pool_));
    }
    inner_->arena_.reserve(like.inner_->arena_.peak());
  }
}

void Tape::freeze() {
  arena_.freeze();
  if (inner_) {
    inner_->freeze();
  }
}

bool Tape::begin_node(const OpRun& run) {
  const bool needed = recording() && std::any_of(run.inputs.begin(), run.inputs.end(), [](Tensor x) { return x && x.needs_gradient(); });
  require(!needed || !in_closure_, op_,
          ": called by a backward closure on a tensor that needs a gradient; there are no derivatives of "
          "gradients, expected kernels, or detach() or NoGradient");
  for (const Tensor y : run.outputs) {
    y.record()->needs_gradient = needed && y.dtype() != DType::i32;
  }
  if (counts_uses_) {
    for (const Tensor x : run.inputs) {
      if (ParameterGradient* const gradient = trained(x)) {
        ++gradient->uses;
      }
    }
  }
  if (observer_ != nullptr) {
    observer_->forward_ends(run);
  }
  return needed;
}

std::span<const Tensor> Tape::keep(std::span<const Tensor> tensors) {
  auto* kept = static_cast<Tensor*>(arena_.allocate(tensors.size() * sizeof(Tensor), op_, alignof(Tensor)));
  std::copy(tensors.begin(), tensors.end(), kept);
  return {kept, tensors.size()};
}

void Tape::end_node(const OpRun& about, void* closure, void (*run)(void*, Gradients&)) {
  OpRun kept = about;
  kept.inputs = keep(about.inputs);
  kept.outputs = keep(about.outputs);
  last_ = new (arena_.allocate(sizeof(Node), op_, alignof(Node))) Node{last_, run, closure, kept};
}

void Tape::backward(Tensor y) {
  require(y.size() == 1, "backward: of shape ", y.shape(), ", expected a scalar; give dy for anything else");
  Buffer* one = pool_.acquire(size_of(y.dtype()), "backward");
  for_float(y.dtype(), "backward", [&](auto zero) { *static_cast<decltype(zero)*>(one->data) = 1; });
  run_backward(y, one);
}

void Tape::backward(Tensor y, Tensor dy) {
  require(y.shape() == dy.shape() && y.dtype() == dy.dtype(), "backward: dy is ", dy.dtype(), " ", dy.shape(), ", expected ", y.dtype(),
          " ", y.shape());
  const std::size_t bytes = static_cast<std::size_t>(y.size()) * size_of(y.dtype());
  if (dy.tape() == this) {  // it lives as long as y: share it, and count dy itself as a user, so that nobody writes to it
    run_backward(y, new (arena_.allocate(sizeof(Buffer), "backward", alignof(Buffer))) Buffer{dy.record()->data, bytes, 2});
    return;
  }
  Buffer* seed = pool_.acquire(bytes, "backward");
  std::memcpy(seed->data, dy.record()->data, bytes);
  run_backward(y, seed);
}

void Tape::run_backward(Tensor y, Buffer* dy) {
  if (!y.needs_gradient() || y.tape() != this || spent_) {
    pool_.release(dy);
    require(!spent_, "backward: called a second time, expected reset() in between; there are no derivatives of gradients");
    fail("backward: the tensor depends on nothing on this tape that needs a gradient");
  }
  y.record()->gradient = dy;
  run_nodes();
}

void Tape::run_nodes() {
  spent_ = true;
  Gradients gradients(pool_);
  for (; last_ != nullptr; last_ = last_->previous) {
    const auto outputs = last_->about.outputs;
    if (std::any_of(outputs.begin(), outputs.end(), [](Tensor t) { return t.record()->gradient != nullptr; })) {
      if (observer_ != nullptr) {
        observer_->backward_begins();
      }
      in_closure_ = true;
      last_->run(last_->closure, gradients);
      in_closure_ = false;
      if (observer_ != nullptr) {
        observer_->backward_ends(last_->about);
      }
    }
    for (const Tensor output : outputs) {
      release_gradient(output);
    }
    end_uses(last_->about.inputs);
  }
}

void Tape::end_uses(std::span<const Tensor> inputs) {
  for (const Tensor x : inputs) {
    if (ParameterGradient* const gradient = trained(x); gradient != nullptr && --gradient->uses == 0 && watcher_ != nullptr) {
      watcher_->gradient_complete(*gradient);
    }
  }
}

void Tape::release_gradient(Tensor t) noexcept {
  if (t.record()->gradient != nullptr) {
    pool_.release(t.record()->gradient);
    t.record()->gradient = nullptr;
  }
}

void Tape::release_gradients() noexcept {
  for (; last_ != nullptr; last_ = last_->previous) {  // nodes are left when backward was not run, or threw
    for (const Tensor output : last_->about.outputs) {
      release_gradient(output);
    }
  }
  for (; leaves_ != nullptr; leaves_ = leaves_->previous) {
    release_gradient(leaves_->tensor);
  }
}

void Tape::release_storage() noexcept {
  for (; stored_ != nullptr; stored_ = stored_->previous) {
    release(stored_->tensor);
  }
}

void Tape::forget() noexcept {
  release_gradients();
  release_storage();
  spent_ = false;
  in_closure_ = false;  // unless it threw
  region_ = Region::none;
  arena_.forget();
  records_.expire();
}

void Tape::reset() {
  forget();
  arena_.reset();
}

}  // namespace dikkat
