#include "train/model/finite_weights.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"

namespace dikkat {

void require_finite(const ParameterStore::Entry& entry, const std::string& name) {
  // Look for an exponent whose bits are all set, in a loop that the compiler turns into vectors.
  constexpr index kBlock = 1 << 14;
  constexpr std::uint32_t kExponent = 0x7F800000;
  const auto* const values = static_cast<const float*>(entry.values);
  std::atomic<bool> is_finite = true;
  parallel_blocks(entry.size(), kBlock, [&](index begin, index end) {
    std::uint32_t found = 0;
    for (index i = begin; i < end; ++i) {
      found |= (std::bit_cast<std::uint32_t>(values[i]) & kExponent) == kExponent ? 1U : 0U;
    }
    if (found != 0) {
      is_finite = false;
    }
  });
  if (is_finite) {
    return;
  }
  index first = -1, count = 0;
  for (index i = 0; i < entry.size(); ++i) {
    if (!std::isfinite(values[i])) {
      first = first < 0 ? i : first;
      ++count;
    }
  }
  fail_input(name, ": the weight ", entry.path, " of shape ", entry.shape(), " has ", values[first], " at element ", first, " (", count,
             " of ", entry.size(),
             " elements are NaN or infinite), expected finite numbers: the training that made it failed, or the file is "
             "damaged");
}

}  // namespace dikkat
