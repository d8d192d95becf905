#include "train/sample/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/base/error.h"
#include "autograd/simd/exp.h"

namespace dikkat {
namespace {

/// Computes weights = e^((logits - highest) / temperature), so the likeliest token has weight 1.
void compute_weights(std::span<const float> logits, float highest, float temperature, float* weights) {
  const auto count = static_cast<index>(logits.size());
  simd::for_vectors<float>(0, count, [&](index at, auto lanes) {
    simd::store(weights + at, simd::exp((simd::load(logits.data() + at, lanes) - highest) / temperature), lanes);
  });
}

/// Returns the largest logit.
float largest_of(std::span<const float> logits) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  simd::Vec<float> largest = simd::broadcast(kNothing);
  simd::for_vectors<float>(0, static_cast<index>(logits.size()), [&](index at, auto lanes) {
    largest = simd::max<float>(simd::load(logits.data() + at, lanes, kNothing), largest);
  });
  return simd::max<float>(largest);
}

/// Returns the first of the largest logits.
index likeliest_of(std::span<const float> logits) {
  const index found = std::ranges::find(logits, largest_of(logits)) - logits.begin();
  return found < std::ssize(logits) ? found : 0;
}

}  // namespace

void check(const DrawOptions& o) {
  require_input(0 <= o.temperature && o.temperature <= kHighestTemperature, "temperature is ", o.temperature, ", expected 0 to ",
                kHighestTemperature);
  require_input(o.top_k >= 0, "top-k is ", o.top_k, ", expected 1 or more, or 0 for all");
  require_input(0 < o.top_p && o.top_p <= 1, "top-p is ", o.top_p, ", expected more than 0, up to 1");
  require_input(0 <= o.min_p && o.min_p < 1, "min-p is ", o.min_p, ", expected 0 or more, below 1");
  if (o.temperature == 0) {
    const char* name = o.top_k > 0 ? "top-k" : o.top_p < 1 ? "top-p" : o.min_p > 0 ? "min-p" : nullptr;
    require_input(name == nullptr, "temperature 0 always takes the likeliest token, so ", name != nullptr ? name : "",
                  " would change nothing; give a temperature above 0, or leave it out");
  }
}

Draw::Draw(index vocab_size) {
  weights_.reserve(static_cast<std::size_t>(vocab_size));
  ids_.reserve(static_cast<std::size_t>(vocab_size));
}

index Draw::operator()(std::span<const float> logits, const DrawOptions& options, double uniform) {
  const index likeliest = likeliest_of(logits);
  if (options.temperature == 0) {
    return likeliest;
  }

  // Compute the probabilities before normalization.
  constexpr double kLeast = 1e-6;  // at lower temperatures, the likeliest token is certain and f32 overflows
  weights_.resize(logits.size());
  compute_weights(logits, logits[static_cast<std::size_t>(likeliest)], static_cast<float>(std::max(options.temperature, kLeast)),
                  weights_.data());
  if (options.top_k == 0 && options.top_p == 1 && options.min_p == 0) {
    return draw_of_all(likeliest, uniform);
  }
  const auto weight = [&](index id) { return static_cast<double>(weights_[static_cast<std::size_t>(id)]); };
  const auto logit = [&](index id) { return logits[static_cast<std::size_t>(id)]; };
  const auto likelier = [&](index a, index b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; };

  // Select the ids that can be drawn: top_k, then top_p, then min_p.
  ids_.resize(logits.size());
  std::iota(ids_.begin(), ids_.end(), index{0});
  if (0 < options.top_k && options.top_k < static_cast<index>(ids_.size())) {
    std::nth_element(ids_.begin(), ids_.begin() + options.top_k, ids_.end(), likelier);
    ids_.resize(static_cast<std::size_t>(options.top_k));
  }
  if (options.top_p < 1) {
    double total = 0;
    for (const index id : ids_) {
      total += weight(id);
    }
    // Ids with weights of at most (1 - top_p) / n of the total add up to at most 1 - top_p, so the others are enough.
    const double small = (1 - options.top_p) * total / static_cast<double>(ids_.size());
    std::erase_if(ids_, [&](index id) { return weight(id) <= small; });
    // A binary search instead of sorting: each round splits the undecided ids into the likelier and the less likely half.
    double missing = options.top_p * total;
    auto first = ids_.begin(), last = ids_.end();
    while (last - first > 1) {
      const auto middle = first + (last - first) / 2;
      std::nth_element(first, middle, last, likelier);
      const double mass = std::accumulate(first, middle, 0.0, [&](double sum, index id) { return sum + weight(id); });
      if (mass >= missing) {
        last = middle;
      } else {
        missing -= mass;
        first = middle;
      }
    }
    ids_.erase(last, ids_.end());
  }
  if (options.min_p > 0) {
    std::erase_if(ids_, [&](index id) { return weight(id) < options.min_p; });
  }
  if (ids_.size() < logits.size()) {
    std::sort(ids_.begin(), ids_.end());  // so that the result does not depend on how they were chosen
  }

  // Draw the first id at which the cumulative probability exceeds the random number.
  double total = 0;
  for (const index id : ids_) {
    total += weight(id);
  }
  const double wanted = uniform * total;
  double sum = 0;
  index last = likeliest;
  for (const index id : ids_) {
    if (weight(id) > 0) {
      last = id;
      sum += weight(id);
      if (sum > wanted) {
        break;
      }
    }
  }
  return last;
}

index Draw::draw_of_all(index likeliest, double uniform) {
  // Find the id by the cumulative sums at the ends of blocks, so that only one block is searched.
  constexpr std::size_t kBlock = 64;
  sums_.clear();
  double total = 0;
  for (std::size_t begin = 0; begin < weights_.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, weights_.size());
    for (std::size_t id = begin; id < end; ++id) {
      total += static_cast<double>(weights_[id]);
    }
    sums_.push_back(total);
  }
  const double wanted = uniform * total;
  const auto block = std::ranges::upper_bound(sums_, wanted) - sums_.begin();
  double sum = block == 0 ? 0 : sums_[static_cast<std::size_t>(block - 1)];
  for (std::size_t id = static_cast<std::size_t>(block) * kBlock; id < weights_.size(); ++id) {
    sum += static_cast<double>(weights_[id]);
    if (sum > wanted) {
      return static_cast<index>(id);
    }
  }
  const auto last = std::find_if(weights_.rbegin(), weights_.rend(), [](float weight) { return weight > 0; });
  return last == weights_.rend() ? likeliest : static_cast<index>(weights_.rend() - last) - 1;
}

void penalize(std::span<float> logits, std::span<const std::int32_t> ids, double penalty) {
  const auto factor = static_cast<float>(penalty);
  for (const std::int32_t id : ids) {
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / factor : logit * factor;
  }
}

void IdCounts::add(std::int32_t id) {
  if (id < std::ssize(counts_) && counts_[static_cast<std::size_t>(id)]++ == 0) {
    ids_.push_back(id);
  }
}

void penalize_counts(std::span<float> logits, const IdCounts& answer, double presence, double frequency) {
  for (const std::int32_t id : answer.ids()) {
    const double penalty = presence + frequency * static_cast<double>(answer.of(id));
    logits[static_cast<std::size_t>(id)] -= static_cast<float>(penalty);
  }
}

void add_bias(std::span<float> logits, std::span<const LogitBias> bias) {
  for (const auto& [id, more] : bias) {
    logits[static_cast<std::size_t>(id)] += static_cast<float>(more);
  }
}

std::vector<std::int32_t> likeliest_tokens(std::span<const float> logits, index usable, index count) {
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; };
  // A heap of the likeliest ids so far, whose front is the least likely of them: few of the other ids enter it.
  std::vector<std::int32_t> ids;
  float least = -std::numeric_limits<float>::infinity();
  for (std::int32_t id = 0; id < usable && count > 0; ++id) {
    if (logit(id) > least) {
      if (std::ssize(ids) == count) {
        std::ranges::pop_heap(ids, likelier);
        ids.pop_back();
      }
      ids.push_back(id);
      std::ranges::push_heap(ids, likelier);
      least = std::ssize(ids) == count ? logit(ids.front()) : least;
    }
  }
  std::ranges::sort_heap(ids, likelier);
  return ids;
}

double log_sum_exp(std::span<const float> logits) {
  const float highest = largest_of(logits);
  double total = 0;
  simd::for_vectors<float>(0, static_cast<index>(logits.size()), [&](index at, auto lanes) {
    const float nothing = -std::numeric_limits<float>::infinity();
    total += static_cast<double>(simd::sum<float>(simd::exp(simd::load(logits.data() + at, lanes, nothing) - highest)));
  });
  return static_cast<double>(highest) + std::log(total);
}

double log_probability(std::span<const float> logits, index id) {
  return static_cast<double>(logits[static_cast<std::size_t>(id)]) - log_sum_exp(logits);
}

}  // namespace dikkat
