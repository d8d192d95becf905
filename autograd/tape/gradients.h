#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// The gradients as a backward closure sees them. L is the tensor that backward() was called on.
class Gradients {
 public:
  explicit Gradients(BufferPool& pool) : pool_(pool) {}

  /// Returns dL/dy, or null if no gradient has arrived at y.
  template <class T>
  const T* of(Tensor y) const {
    return static_cast<const T*>(read(y, kDType<T>));
  }

  /// Returns the memory for dL/dx, and whether to overwrite it or to add to it; null if x needs no gradient. The memory counts as written
  /// afterwards, so ask only if all of it will be written. Asking twice for one x returns the same memory: overwrite it the first time, add
  /// to it the second.
  template <class T>
  GradOut<T> into(Tensor x) {
    bool add = false;
    void* to = write(x, kDType<T>, add);
    return {static_cast<T*>(to), add};
  }

  /// Returns dL/dy as workspace for the op that made y: the buffer itself if no other tensor shares it, otherwise a copy. of(y) is gone
  /// afterwards.
  template <class T>
  T* reuse(Tensor y) {
    return static_cast<T*>(take(y, kDType<T>));
  }

  /// Adds dL/dy to dL/dx, for an op that passes its gradient on unchanged. x takes dL/dy's buffer when it has none yet.
  void pass(Tensor y, Tensor x);

 private:
  const void* read(Tensor y, DType dtype) const;
  void* write(Tensor x, DType dtype, bool& add);
  void* take(Tensor y, DType dtype);

  BufferPool& pool_;
};

}  // namespace dikkat
