#include "train/data/samples/mixture.h"

#include <cmath>
#include <numeric>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

// Shares are whole numbers of 2^-24, so that products with positions are exact.
constexpr int kShareBits = 24;
constexpr index kMostPositions = index{1} << 38;

/// Returns how many of the first n samples go to the left side of a division: n a, rounded.
index to_the_left(index n, index share) { return (n * share + (index{1} << (kShareBits - 1))) >> kShareBits; }

}  // namespace

Mixture::Mixture(std::span<const double> weights) {
  require(!weights.empty(), "mixture: no weights, expected 1 or more");
  double rest = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const double& weight : weights) {
    require(weight > 0 && weight >= 1e-6 * rest && std::isfinite(rest), "mixture: a weight of ", weight,
            ", expected at least 1e-6 of the sum of itself and those after it");
    if (&weight != &weights.back()) {
      shares_.push_back(std::llround(std::ldexp(weight / rest, kShareBits)));
    }
    rest -= weight;
  }
}

Mixture::Place Mixture::at(index position) const {
  require(0 <= position && (position < kMostPositions || shares_.empty()), "mixture: position ", position, ", expected 0 to ",
          kMostPositions - 1);
  index source = 0;
  for (const index share : shares_) {
    const index before = to_the_left(position, share);
    if (to_the_left(position + 1, share) > before) {
      return {.source = source, .number = before};
    }
    position -= before;
    ++source;
  }
  return {.source = source, .number = position};
}

index Mixture::taken(index source, index positions) const {
  require(0 <= source && source < sources() && 0 <= positions && positions <= kMostPositions, "mixture: source ", source, " of the first ",
          positions);
  for (index left = 0; left < source; ++left) {
    positions -= to_the_left(positions, shares_[static_cast<std::size_t>(left)]);
  }
  return source + 1 == sources() ? positions : to_the_left(positions, shares_[static_cast<std::size_t>(source)]);
}

}  // namespace dikkat
