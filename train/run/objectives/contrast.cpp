#include "train/run/objectives/contrast.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"

namespace dikkat {
namespace {

constexpr double kNegligible = 1e-12;  // a shorter vector is divided by this, so that a vector of zeros stays one

std::int64_t hash_of_tokens(std::span<const Token> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, of whole tokens
  for (const Token token : tokens) {
    hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return static_cast<std::int64_t>(hash);
}

/// Returns a . b. Four sums make it several times faster than one.
double dot(const double* a, const double* b, index width) {
  double sums[4] = {};
  index i = 0;
  for (; i + 4 <= width; i += 4) {
    for (index j = 0; j < 4; ++j) {
      sums[j] += a[i + j] * b[i + j];
    }
  }
  for (; i < width; ++i) {
    sums[0] += a[i] * b[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void add_scaled(double factor, const double* x, index width, double* y) {
  for (index i = 0; i < width; ++i) {
    y[i] += factor * x[i];
  }
}

/// Vectors of length 1, (texts, C), and who is compared with whom.
class Compared {
 public:
  Compared(const PairTexts& texts, std::span<const float> pooled)
      : width(texts.count() == 0 ? 0 : std::ssize(pooled) / texts.count()), vectors_(pooled.begin(), pooled.end()) {
    require(texts.count() > 0 && width > 0 && std::ssize(pooled) == texts.count() * width && texts.places[0] == 0,
            "contrast: ", pooled.size(), " features of ", texts.count(), " texts, expected C for each, and an anchor first");
    // List anchors and candidates: all positives, then all negatives.
    std::vector<index> negatives;
    for (index i = 0; i < texts.count(); ++i) {
      const index place = texts.places[static_cast<std::size_t>(i)];
      (place == 0 ? anchors : place == 1 ? candidates : negatives).push_back(i);
    }
    require(anchors.size() == candidates.size(), "contrast: ", anchors.size(), " anchors and ", candidates.size(),
            " positives, expected as many");
    candidates.insert(candidates.end(), negatives.begin(), negatives.end());
    // Find the right answers of each anchor.
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      right_[id(texts, anchors[i])].insert({id(texts, anchors[i]), id(texts, candidates[i])});
    }
    for (const index anchor : anchors) {
      right_of_.push_back(&right_[id(texts, anchor)]);
    }
    for (const index candidate : candidates) {
      candidate_ids_.push_back(id(texts, candidate));
    }
    // Normalize.
    lengths_.resize(static_cast<std::size_t>(texts.count()));
    parallel_for(texts.count(), Work::elements(std::ssize(pooled)), [&](index i) {
      double* const v = vectors_.data() + i * width;
      const double length = std::max(std::sqrt(dot(v, v, width)), kNegligible);
      std::for_each(v, v + width, [&](double& x) { x /= length; });
      lengths_[static_cast<std::size_t>(i)] = length;
    });
  }
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;

  index width;
  std::vector<index> anchors{}, candidates{};  // texts; the first candidates are the positives of the anchors

  const double* vector(index text) const { return vectors_.data() + text * width; }
  double length(index text) const { return lengths_[static_cast<std::size_t>(text)]; }
  std::int64_t id_of_candidate(std::size_t candidate) const { return candidate_ids_[candidate]; }
  /// Returns whether a candidate is the anchor's own positive, or a wrong answer to it.
  bool counts(std::size_t anchor, std::size_t candidate) const {
    return candidate == anchor || !right_of_[anchor]->contains(candidate_ids_[candidate]);
  }

 private:
  static std::int64_t id(const PairTexts& texts, index text) { return texts.ids[static_cast<std::size_t>(text)]; }

  std::vector<double> vectors_;
  std::vector<double> lengths_{};
  std::map<std::int64_t, std::set<std::int64_t>> right_{};  // of each anchor's id, the ids of its right answers and its own
  std::vector<const std::set<std::int64_t>*> right_of_{};   // of each anchor
  std::vector<std::int64_t> candidate_ids_{};
};

}  // namespace

index PairTexts::pairs() const { return std::ranges::count(places, 0); }

void PairTexts::clear() {
  places.clear();
  ids.clear();
}

void PairTexts::add(const Batch& batch) {
  for (const ReadText& text : batch.texts) {
    places.push_back(text.place);
    ids.push_back(
        hash_of_tokens(std::span(batch.inputs).subspan(static_cast<std::size_t>(text.begin), static_cast<std::size_t>(text.length))));
  }
}

PairLosses contrast(const PairTexts& texts, std::span<const float> pooled, double temperature, std::span<float> slopes) {
  const Compared c(texts, pooled);
  const std::size_t pairs = c.anchors.size(), candidates = c.candidates.size();
  const index width = c.width;
  PairLosses result{.losses = std::vector<double>(pairs), .right = std::vector<char>(pairs)};
  // Compute the losses, and their derivatives with respect to the scores, (pairs, candidates).
  std::vector<double> weights(slopes.empty() ? 0 : pairs * candidates);
  parallel_for(std::ssize(c.anchors), Work::products(std::ssize(c.anchors), std::ssize(c.candidates), width), [&](index pair) {
    const auto i = static_cast<std::size_t>(pair);
    std::vector<double> only_row(slopes.empty() ? candidates : 0);
    double* const row = slopes.empty() ? only_row.data() : weights.data() + i * candidates;
    double highest = -std::numeric_limits<double>::infinity(), highest_other = highest, sum = 0;
    for (std::size_t j = 0; j < candidates; ++j) {
      row[j] = c.counts(i, j) ? dot(c.vector(c.anchors[i]), c.vector(c.candidates[j]), width) / temperature
                              : -std::numeric_limits<double>::infinity();
      highest = std::max(highest, row[j]);
      highest_other = j == i ? highest_other : std::max(highest_other, row[j]);
    }
    const double own = row[i];
    for (std::size_t j = 0; j < candidates; ++j) {
      row[j] = std::exp(row[j] - highest);
      sum += row[j];
    }
    result.losses[i] = highest + std::log(sum) - own;
    result.right[i] = own > highest_other ? 1 : 0;
    for (std::size_t j = 0; j < candidates; ++j) {
      row[j] = (row[j] / sum - (j == i ? 1 : 0)) / (temperature * static_cast<double>(pairs));
    }
  });
  if (slopes.empty()) {
    return result;
  }
  // Compute the derivatives with respect to vectors, and then to what was normalized: the part along the vector does not matter. The weight
  // of texts i and j is at i * row + j * col.
  require(slopes.size() == pooled.size(), "contrast: ", slopes.size(), " derivatives, expected ", pooled.size());
  const auto derive = [&](const std::vector<index>& texts_of, const std::vector<index>& others, std::size_t row, std::size_t col) {
    parallel_for(std::ssize(texts_of), Work::products(std::ssize(texts_of), std::ssize(others), width), [&](index text) {
      const auto i = static_cast<std::size_t>(text);
      std::vector<double> slope(static_cast<std::size_t>(width));
      for (std::size_t j = 0; j < others.size(); ++j) {
        add_scaled(weights[i * row + j * col], c.vector(others[j]), width, slope.data());
      }
      const double* const v = c.vector(texts_of[i]);
      add_scaled(-dot(v, slope.data(), width), v, width, slope.data());
      float* const out = slopes.data() + texts_of[i] * width;
      for (index k = 0; k < width; ++k) {
        out[k] = static_cast<float>(slope[static_cast<std::size_t>(k)] / c.length(texts_of[i]));
      }
    });
  };
  derive(c.anchors, c.candidates, candidates, 1);
  derive(c.candidates, c.anchors, 1, candidates);
  return result;
}

Retrieval retrieve(const PairTexts& texts, std::span<const float> pooled) {
  const Compared c(texts, pooled);
  std::map<std::int64_t, std::size_t> distinct;
  for (std::size_t j = 0; j < c.candidates.size(); ++j) {
    distinct.emplace(c.id_of_candidate(j), j);
  }
  std::vector<index> ranks(c.anchors.size());
  parallel_for(std::ssize(ranks), Work::products(std::ssize(ranks), std::ssize(distinct), c.width), [&](index pair) {
    const auto i = static_cast<std::size_t>(pair);
    const double* const anchor = c.vector(c.anchors[i]);
    const double own = dot(anchor, c.vector(c.candidates[i]), c.width);
    index rank = 1;
    for (const auto& [id, j] : distinct) {
      rank += id != c.id_of_candidate(i) && c.counts(i, j) && !(dot(anchor, c.vector(c.candidates[j]), c.width) < own) ? 1 : 0;  // NaN too
    }
    ranks[i] = rank;
  });
  Retrieval result{.candidates = std::ssize(distinct)};
  for (const index rank : ranks) {
    result.recall_1 += rank <= 1 ? 1 : 0;
    result.recall_10 += rank <= 10 ? 1 : 0;
    result.mrr += 1 / static_cast<double>(rank);
  }
  for (double* const sum : {&result.recall_1, &result.recall_10, &result.mrr}) {
    *sum /= static_cast<double>(ranks.size());
  }
  return result;
}

}  // namespace dikkat
