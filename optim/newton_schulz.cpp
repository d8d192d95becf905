#include "optim/newton_schulz.h"

#include "autograd/base/error.h"
#include "autograd/kernels/optimizer/newton_schulz.h"

namespace dikkat {
namespace {

using Step = kernels::NewtonSchulz::Step;

constexpr Step kStep = {3.4445, -4.7750, 2.0315};
constexpr Step kJordan[] = {kStep, kStep, kStep, kStep, kStep, kStep, kStep, kStep, kStep, kStep};
constexpr Step kPolarExpress[] = {{8.156554524902461, -22.48329292557795, 15.878769915207462},
                                  {4.042929935166739, -2.808917465908714, 0.5000178451051316},
                                  {3.8916678022926607, -2.772484153217685, 0.5060648178503393},
                                  {3.285753657755655, -2.3681294933425376, 0.46449024233003106},
                                  {2.3465413258596377, -1.7097828382687081, 0.42323551169305323}};
constexpr Step kTurbo[] = {
    {4.0848, -6.8946, 2.9270}, {3.9505, -6.3029, 2.6377}, {3.7418, -5.5913, 2.3037}, {2.8769, -3.1427, 1.2046}, {2.8366, -3.0525, 1.2012}};

}  // namespace

index usual_steps(MuonCoefficients coefficients) { return coefficients == MuonCoefficients::turbo ? 4 : 5; }

index most_steps(MuonCoefficients coefficients) {
  switch (coefficients) {
    case MuonCoefficients::jordan: return std::ssize(kJordan);
    case MuonCoefficients::polar_express: return std::ssize(kPolarExpress);
    case MuonCoefficients::turbo: return std::ssize(kTurbo);
  }
  fail("newton_schulz: unknown coefficients");
}

kernels::NewtonSchulz newton_schulz(MuonCoefficients coefficients, index steps) {
  require(steps >= 1 && steps <= most_steps(coefficients), "newton_schulz: ", steps, " steps with the coefficients ", name_of(coefficients),
          ", expected from 1 to ", most_steps(coefficients));
  const auto count = static_cast<std::size_t>(steps);
  switch (coefficients) {
    case MuonCoefficients::jordan: return {.steps = std::span(kJordan).first(count)};
    case MuonCoefficients::polar_express:
      return {.steps = std::span(kPolarExpress).first(count), .norm_factor = 1.01, .norm_rest = 1e-6, .largest_group = 2};
    case MuonCoefficients::turbo: return {.steps = std::span(kTurbo).last(count), .balanced = true};
  }
  fail("newton_schulz: unknown coefficients");
}

}  // namespace dikkat
