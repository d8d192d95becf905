#include <cmath>
#include <vector>

#include "dikkat/autograd.h"

// A formula of this program, which is compiled for another instruction set than the library, beside ops of the library.
int main() {
  using namespace dikkat;
  Tape tape;
  const Tensor x = tape.input<float>({2}, std::vector{0.5F, -1.0F}, true);
  const Tensor y = elementwise([](auto a, auto b) { return a * tanh(b) + exp(b); }, exp(x), x);
  tape.backward(sum(y));
  const auto slope = [](float v) {  // of e^x tanh x + e^x
    const float t = std::tanh(v);
    return std::exp(v) * (t + 1 - t * t) + std::exp(v);
  };
  for (int i = 0; i < 2; ++i) {
    if (std::abs(tape.gradient<float>(x)[i] - slope(x.data<float>()[i])) > 1e-5F) {
      return 1;
    }
  }
  return 0;
}
