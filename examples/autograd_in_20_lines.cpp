// Automatic differentiation: write down a function, and a tape knows its gradient.
//
// The function is the cross-entropy f(x) = -sum_i p_i log softmax(x)_i. Its gradient is softmax(x) - p, and its minimum, where softmax(x) =
// p, is the entropy of p. The program is given neither, and finds both.

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/ranges.h>

#include "autograd/ops/basic.h"
#include "autograd/tape/tape.h"

using namespace dikkat;
using Vector = std::vector<double>;

const Vector kP = {0.5, 0.3, 0.2};

Tensor f(Tape& tape, Tensor x) { return scale(sum(multiply(log(softmax(x)), tape.input<double>({3}, kP))), -1); }

double value(const Vector& x) {
  Tape tape(Recording::off);
  return *f(tape, tape.input<double>({3}, x)).data<double>();
}

Vector gradient(const Vector& x) {
  Tape tape;
  const Tensor input = tape.input<double>({3}, x, true);  // true: compute its gradient
  tape.backward(f(tape, input));
  const double* df = tape.gradient<double>(input);
  return {df, df + 3};
}

/// Returns (f(x + h) - f(x - h)) / 2h along each axis: slow and inexact, but it needs no derivatives.
Vector difference_quotient(const Vector& x, double h = 1e-5) {
  Vector quotient;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Vector above = x, below = x;
    above[i] += h;
    below[i] -= h;
    quotient.push_back((value(above) - value(below)) / (2 * h));
  }
  return quotient;
}

int main() {
  Vector x = {1, -1, 0.5};
  const Vector df = gradient(x), numeric = difference_quotient(x);
  fmt::print("x                    {:8.4f}\nf(x)                 {:8.4f}\n", fmt::join(x, " "), value(x));
  fmt::print("gradient by the tape {:11.7f}\nby differences       {:11.7f}\n\n", fmt::join(df, " "), fmt::join(numeric, " "));
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(df[i] - numeric[i]));
  }

  fmt::print("Downhill, x -= 2 df/dx at a time:\n");
  for (int step = 0; step <= 25; ++step) {
    const Vector slope = gradient(x);
    if (step % 5 == 0) {
      fmt::print("step {:2}   f {:.6f}   df/dx {:9.6f}\n", step, value(x), fmt::join(slope, " "));
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] -= 2 * slope[i];
    }
  }
  double entropy = 0;
  for (const double p : kP) {
    entropy -= p * std::log(p);
  }
  fmt::print("the entropy of p is {:.6f}\n", entropy);
  const bool ok = error < 1e-9 && value(x) - entropy < 1e-6;
  fmt::print("{}\n", ok ? "The gradient is right, and leads to the minimum." : "Something is wrong.");
  return ok ? 0 : 1;
}
