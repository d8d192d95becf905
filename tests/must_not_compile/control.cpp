// expect: compiles
#include "autograd/tape/tape.h"
#include "tests/gradcheck/registry.h"

// Closures may own tensors, pointers, numbers, and plain structs of these. All ops have a gradient check.
struct Plain {
  dikkat::Tensor x;
  const float* saved;
  dikkat::index rows;
};

void record(dikkat::Tape& tape, dikkat::Tensor x, dikkat::Tensor y, const Plain& plain) {
  tape.record({x}, {y}, [=](dikkat::Gradients& gradients) { gradients.pass(y, plain.x); });
}

const auto kCases = dikkat::gradcheck::all_cases();

int size_of_float(dikkat::DType dtype) {
  return dikkat::for_float(dtype, "size", [](auto zero) { return static_cast<int>(sizeof zero); });
}
