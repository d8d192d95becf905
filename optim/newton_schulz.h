#pragma once

#include "autograd/base/index.h"
#include "autograd/base/names.h"

namespace dikkat {
namespace kernels {
struct NewtonSchulz;
}

/// The polynomials of Muon's iteration X = a X + (b A + c A^2) X, A = X X^T.
/// - jordan: (3.4445, -4.7750, 2.0315) in every step (Keller Jordan 2024). Singular values end between 0.7 and 1.2.
/// - polar_express: one polynomial for each of up to five steps, each the best after those before it (Amsel et al., arXiv 2505.16932; the
///   numbers are nanochat's). The matrix is divided by 1.01 times its norm first.
/// - turbo: rows are balanced first, which replaces one step (Turbo-Muon, arXiv 2512.04632). n steps are the last n of the five polynomials
///   that Turbo-Muon takes from dion: the first one is not needed.
enum class MuonCoefficients { jordan, polar_express, turbo };
template <>
struct Names<MuonCoefficients> {
  static constexpr std::string_view of[] = {"jordan", "polar_express", "turbo"};
};

/// Returns the usual number of steps, and the largest number that there are polynomials for.
index usual_steps(MuonCoefficients coefficients);
index most_steps(MuonCoefficients coefficients);

/// Returns the iteration for the kernel. Throws Error unless steps is from 1 to most_steps().
kernels::NewtonSchulz newton_schulz(MuonCoefficients coefficients, index steps);

}  // namespace dikkat
