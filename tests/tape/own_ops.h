#pragma once

#include "autograd/tape/tape.h"

// Ops as a user of the library writes them, with only the tape.
namespace dikkat::testing {

/// factor * x.
inline Tensor times(Tensor x, double factor) {
  Tape& tape = *x.tape();
  tape.begin("times");
  const Tensor y = tape.make(x.shape(), DType::f64);
  for (index i = 0; i < x.size(); ++i) {
    y.mutable_data<double>()[i] = factor * x.data<double>()[i];
  }
  tape.record({x}, {y}, [=](Gradients& g) {
    const double* dy = g.of<double>(y);
    if (const auto dx = g.into<double>(x)) {
      for (index i = 0; i < x.size(); ++i) {
        dx.put(i, factor * dy[i]);
      }
    }
  });
  return y;
}

/// a + b, whose gradients are passed on.
inline Tensor plus(Tensor a, Tensor b) {
  Tape& tape = *a.tape();
  tape.begin("plus");
  const Tensor y = tape.make(a.shape(), DType::f64);
  for (index i = 0; i < a.size(); ++i) {
    y.mutable_data<double>()[i] = a.data<double>()[i] + b.data<double>()[i];
  }
  tape.record({a, b}, {y}, [=](Gradients& g) {
    g.pass(y, a);
    g.pass(y, b);
  });
  return y;
}

/// x * x, computed in dL/dy's own memory.
inline Tensor squared(Tensor x) {
  Tape& tape = *x.tape();
  tape.begin("squared");
  const Tensor y = tape.make(x.shape(), DType::f64);
  for (index i = 0; i < x.size(); ++i) {
    y.mutable_data<double>()[i] = x.data<double>()[i] * x.data<double>()[i];
  }
  tape.record({x}, {y}, [=](Gradients& g) {
    double* dy = g.reuse<double>(y);
    for (index i = 0; i < x.size(); ++i) {
      dy[i] *= 2 * x.data<double>()[i];
    }
    g.pass(y, x);
  });
  return y;
}

/// The sum of all elements.
inline Tensor total(Tensor x) {
  Tape& tape = *x.tape();
  tape.begin("total");
  const Tensor y = tape.make({}, DType::f64);
  *y.mutable_data<double>() = 0;
  for (index i = 0; i < x.size(); ++i) {
    *y.mutable_data<double>() += x.data<double>()[i];
  }
  tape.record({x}, {y}, [=](Gradients& g) {
    const double dy = *g.of<double>(y);
    if (const auto dx = g.into<double>(x)) {
      for (index i = 0; i < x.size(); ++i) {
        dx.put(i, dy);
      }
    }
  });
  return y;
}

}  // namespace dikkat::testing
