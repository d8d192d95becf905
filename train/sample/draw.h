#pragma once

#include <span>
#include <utility>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

inline constexpr double kHighestTemperature = 1000;

/// Options for drawing a token. The probabilities are softmax(logits / temperature), over the tokens that top_k, then top_p, then min_p
/// keep.
struct DrawOptions {
  double temperature = 1;  // 0: always the likeliest token; at most kHighestTemperature
  index top_k = 0;         // keeps this many of the likeliest tokens; 0: all
  double top_p = 1;  // keeps the fewest likeliest tokens whose probabilities, among those of top_k, add up to this (Holtzman et al., arXiv
                     // 1904.09751); 1: all
  double min_p = 0;  // keeps tokens with at least this share of the likeliest token's probability (Nguyen et al., arXiv 2407.01082); 0: all
};

/// Throws InputError, with the command line's names of options, for a value out of range and for an option that has no effect at
/// temperature 0.
void check(const DrawOptions& options);

/// Draws ids. The object keeps its memory from call to call.
class Draw {
 public:
  /// Allocates memory for up to `vocab_size` logits.
  explicit Draw(index vocab_size);

  /// Draws an id with the random number `uniform` in [0, 1). Between equal logits, the lower id counts as likelier. An id with -inf is only
  /// drawn if all are -inf.
  index operator()(std::span<const float> logits, const DrawOptions& options, double uniform);

 private:
  /// Draws among all ids.
  index draw_of_all(index likeliest, double uniform);

  std::vector<float> weights_;
  std::vector<double> sums_;
  std::vector<index> ids_;  // the ids that can still be drawn
};

/// Applies the repetition penalty once for each of `ids`, which must differ: divides a logit above 0 by `penalty`, and multiplies one below
/// 0 by it. This makes tokens that a text already has less likely (Keskar et al., arXiv 1909.05858, section 4.1, for logits above 0).
void penalize(std::span<float> logits, std::span<const std::int32_t> ids, double penalty);

/// A number that is added to the logit of one id.
using LogitBias = std::pair<std::int32_t, double>;

/// Counts how often each id occurs in a text.
class IdCounts {
 public:
  /// Ignores ids of `vocab_size` and above.
  explicit IdCounts(index vocab_size) : counts_(static_cast<std::size_t>(vocab_size)) {}

  void add(std::int32_t id);
  /// Returns the ids that occur, each once, by their first occurrence.
  std::span<const std::int32_t> ids() const { return ids_; }
  index of(std::int32_t id) const { return counts_[static_cast<std::size_t>(id)]; }

 private:
  std::vector<std::int32_t> counts_, ids_;
};

/// Applies the penalties of OpenAI's protocol to each id that occurs in an answer: subtracts `presence` from its logit, and `frequency` for
/// each time that it occurs.
void penalize_counts(std::span<float> logits, const IdCounts& answer, double presence, double frequency);

/// Adds the biases to the logits. An id that is listed twice gets both.
void add_bias(std::span<float> logits, std::span<const LogitBias> bias);

/// Returns the `count` likeliest of the first `usable` ids, likeliest first; between equal ones, the lower id comes first. Leaves out ids
/// that cannot occur (-inf).
std::vector<std::int32_t> likeliest_tokens(std::span<const float> logits, index usable, index count);

/// Returns the log of the sum of e^logit, or NaN if a logit is NaN.
double log_sum_exp(std::span<const float> logits);

/// Returns the log probability of an id under softmax(logits), in nats.
double log_probability(std::span<const float> logits, index id);

}  // namespace dikkat
