#include "autograd/tape/gradients.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

std::size_t bytes_of(const TensorRecord& record) { return static_cast<std::size_t>(record.shape.size()) * size_of(record.dtype); }

template <class T>
void accumulate(index n, const T* from, GradOut<T> to) {
  constexpr index kBlock = 1 << 14;
  parallel_blocks(n, kBlock, [&](index begin, index end) {
    for (index i = begin; i < end; ++i) {
      to.put(i, to_computed(from[i]));
    }
  });
}

void copy(const Buffer& from, Buffer& to) {
  constexpr index kBlock = 1 << 16;  // bytes
  parallel_blocks(static_cast<index>(from.bytes), kBlock, [&](index begin, index end) {
    std::memcpy(static_cast<std::byte*>(to.data) + begin, static_cast<const std::byte*>(from.data) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

void check(Tensor t, DType dtype) {
  require(t.dtype() == dtype, "gradients: tensor holds ", t.dtype(), ", but its gradient was asked for as ", dtype);
}

}  // namespace

const void* Gradients::read(Tensor y, DType dtype) const {
  check(y, dtype);
  const Buffer* gradient = y.record()->gradient;
  return gradient == nullptr ? nullptr : gradient->data;
}

void* Gradients::write(Tensor x, DType dtype, bool& add) {
  TensorRecord& record = *x.record();
  if (!record.needs_gradient) {
    return nullptr;
  }
  check(x, dtype);
  if (record.parameter != nullptr) {
    add = record.parameter->written;
    record.parameter->written = true;
    return record.parameter->data;
  }
  add = record.gradient != nullptr;
  if (!add) {
    record.gradient = pool_.acquire(bytes_of(record), "gradient");
  } else if (record.gradient->users > 1) {
    Buffer* own = pool_.acquire(bytes_of(record), "gradient");
    copy(*record.gradient, *own);
    pool_.release(record.gradient);
    record.gradient = own;
  }
  return record.gradient->data;
}

void* Gradients::take(Tensor y, DType dtype) {
  check(y, dtype);
  TensorRecord& record = *y.record();
  require(record.gradient != nullptr, "gradients: reuse() where no gradient has arrived, expected a check with of() before");
  bool add = false;
  return write(y, dtype, add);
}

void Gradients::pass(Tensor y, Tensor x) {
  TensorRecord& to = *x.record();
  Buffer* from = y.record()->gradient;
  if (!to.needs_gradient || from == nullptr) {
    return;
  }
  require(x.size() == y.size() && x.dtype() == y.dtype(), "gradients: pass from ", y.shape(), " to ", x.shape(),
          ", expected equal sizes and types");
  if (to.parameter == nullptr && to.gradient == nullptr) {
    to.gradient = from;
    pool_.share(from);
    return;
  }
  for_stored(x.dtype(), "gradients", [&](auto zero) {
    using T = decltype(zero);
    accumulate<T>(x.size(), static_cast<const T*>(from->data), into<T>(x));
  });
}

}  // namespace dikkat
