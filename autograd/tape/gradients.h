#pragma once

#include "autograd/base/grad_out.h"
#include "autograd/tape/tensor.h"

namespace dikkat {

/// All that a backward closure may touch. L is what backward() was called on.
class Gradients {
 public:
  explicit Gradients(BufferPool& pool) : pool_(pool) {}

  /// dL/dy, or null if nothing flowed into y.
  template <class T>
  const T* of(Tensor y) const {
    return static_cast<const T*>(read(y, kDType<T>));
  }

  /// Where dL/dx goes, and whether to overwrite what lies there or add to it; null if x needs no gradient. What is handed
  /// out counts as written: ask only when the whole of it will be. Asking twice for the same x gives the same memory, to be
  /// overwritten first and added to second.
  template <class T>
  GradOut<T> into(Tensor x) {
    bool add = false;
    void* to = write(x, kDType<T>, add);
    return {static_cast<T*>(to), add};
  }

  /// dL/dy as scratch of the op that made y: taken over when nobody shares it, otherwise copied. of(y) is gone afterwards.
  template <class T>
  T* reuse(Tensor y) {
    return static_cast<T*>(take(y, kDType<T>));
  }

  /// dL/dx += dL/dy, for an op that passes its gradient on unchanged. x takes dL/dy's buffer when it has none yet.
  void pass(Tensor y, Tensor x);

 private:
  const void* read(Tensor y, DType dtype) const;
  void* write(Tensor x, DType dtype, bool& add);
  void* take(Tensor y, DType dtype);

  BufferPool& pool_;
};

}  // namespace dikkat
