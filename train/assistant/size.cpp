#include "train/assistant/size.h"

#include <algorithm>
#include <iterator>

#include "train/assistant/assumptions.h"

namespace dikkat::assistant {
namespace {

// The models to choose from, in rising order. Heads have 32 or 64 columns.
constexpr Size kSizes[] = {
    {.n_layer = 2, .n_embd = 64, .n_head = 2, .block_size = 256, .batch_size = 8},
    {.n_layer = 3, .n_embd = 96, .n_head = 3, .block_size = 256, .batch_size = 8},
    {.n_layer = 4, .n_embd = 128, .n_head = 4, .block_size = 256, .batch_size = 16},
    {.n_layer = 4, .n_embd = 192, .n_head = 3, .block_size = 512, .batch_size = 8},
    {.n_layer = 4, .n_embd = 256, .n_head = 4, .block_size = 1024, .batch_size = 4},
    {.n_layer = 6, .n_embd = 320, .n_head = 5, .block_size = 1024, .batch_size = 4},
    {.n_layer = 8, .n_embd = 384, .n_head = 6, .block_size = 1024, .batch_size = 8},
    {.n_layer = 8, .n_embd = 512, .n_head = 8, .block_size = 1024, .batch_size = 8},
    {.n_layer = 12, .n_embd = 640, .n_head = 10, .block_size = 1024, .batch_size = 16},
    {.n_layer = 12, .n_embd = 768, .n_head = 12, .block_size = 1024, .batch_size = 32},
};

}  // namespace

index Size::parameters(index vocab_size) const { return 12 * n_layer * n_embd * n_embd + vocab_size * n_embd; }

double Size::flops_per_token(index vocab_size) const {
  return 6.0 * static_cast<double>(parameters(vocab_size)) + 6.0 * static_cast<double>(n_layer * n_embd * block_size);
}

index vocabulary_for(index bytes) {
  struct Limit {
    index bytes, vocab_size;
  };
  constexpr Limit kLimits[] = {{300'000, 512}, {1'000'000, 1024}, {4'000'000, 2048}, {30'000'000, 4096}};
  const auto* const limit = std::ranges::find_if(kLimits, [&](const Limit& one) { return bytes < one.bytes; });
  return limit == std::end(kLimits) ? 8192 : limit->vocab_size;
}

Size size_for(double seconds, double flops, index vocab_size, index bytes) {
  Size best = kSizes[0];
  for (const Size& size : kSizes) {
    const index parameters = size.parameters(vocab_size);
    const double tokens = seconds * flops / size.flops_per_token(vocab_size);
    if (tokens >= kTokensPerParameter * static_cast<double>(parameters) && parameters / kParametersPerByte <= bytes) {
      best = size;
    }
  }
  return best;
}

}  // namespace dikkat::assistant
