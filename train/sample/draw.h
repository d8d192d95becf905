#pragma once

#include <span>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// How a token is drawn. Each of top_k, top_p and min_p keeps some of the likeliest tokens; the smallest of these sets counts. Among its
/// tokens one is drawn with the probabilities softmax(logits / temperature).
struct DrawOptions {
  double temperature = 1;  // 0: the likeliest
  index top_k = 0;         // this many; 0: all
  double top_p = 1;        // of those the fewest whose probabilities add up to this share (Holtzman et al., arXiv 1904.09751); 1: all
  double min_p = 0;        // those with this share of the likeliest one's probability or more (Nguyen et al., arXiv 2407.01082); 0: all
};

/// Throws InputError, in the words of the command line, for an option out of range and for one that temperature 0 makes meaningless.
void check(const DrawOptions& options);

/// Draws ids. Reuses its memory.
class Draw {
 public:
  /// From logits of `vocab_size` ids or fewer.
  explicit Draw(index vocab_size);

  /// An id, by `uniform` in [0, 1). Of equal logits the lower id counts as likelier; -inf is never drawn where another logit is more.
  index operator()(std::span<const float> logits, const DrawOptions& options, double uniform);

 private:
  std::vector<float> weights_;
  std::vector<index> ids_;  // that may still be drawn
};

/// For each of the ids, which are apart: a logit above 0 is divided by `penalty`, one below multiplied, so that tokens which a text has
/// already become less likely (Keskar et al., arXiv 1909.05858, section 4.1, where logits are all above 0).
void penalize(std::span<float> logits, std::span<const std::int32_t> ids, double penalty);

/// Log probability of an id under softmax(logits), in nats.
double log_probability(std::span<const float> logits, index id);

}  // namespace dikkat
