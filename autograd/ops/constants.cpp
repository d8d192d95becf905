#include "autograd/ops/constants.h"

#include <cmath>

#include "autograd/base/parallel.h"
#include "autograd/ops/op.h"

namespace dikkat {
namespace {

constexpr index kBlock = 1 << 14;

/// Returns a tensor whose element i is f(i).
template <class F>
Tensor made(Tape& tape, const char* op, Shape shape, DType dtype, F&& f) {
  return for_element(dtype, op, [&](auto zero) {
    using T = decltype(zero);
    tape.begin(op);
    const Tensor y = tape.make(shape, dtype);
    T* const to = y.mutable_data<T>();
    parallel_blocks(y.size(), kBlock, [&](index begin, index end) {
      for (index i = begin; i < end; ++i) {
        to[i] = to_stored<T>(static_cast<Computed<T>>(f(i)));
      }
    });
    end_without_gradient(tape, {}, y);
    return y;
  });
}

}  // namespace

Tensor full(Tape& tape, Shape shape, double number, DType dtype) {
  constexpr double kMost = 2147483647;
  require(dtype != DType::i32 || (-kMost - 1 <= number && number <= kMost && number == std::floor(number)), "full: ", number,
          " in i32, expected an integer below 2^31");
  return made(tape, "full", shape, dtype, [number](index) { return number; });
}
Tensor zeros(Tape& tape, Shape shape, DType dtype) { return full(tape, shape, 0, dtype); }
Tensor ones(Tape& tape, Shape shape, DType dtype) { return full(tape, shape, 1, dtype); }

Tensor arange(Tape& tape, index count, DType dtype) {
  require(0 <= count && count < index{1} << 31, "arange: ", count, " numbers, expected 0 or more, below 2^31");
  return made(tape, "arange", {count}, dtype, [](index i) { return static_cast<double>(i); });
}

}  // namespace dikkat
