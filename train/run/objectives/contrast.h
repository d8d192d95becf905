#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/data/samples/batch.h"

// The loss of vectors as a function of pooled features: InfoNCE (van den Oord et al. 2018, arXiv 1807.03748), as
// MultipleNegativesRankingLoss of sentence-transformers computes it. a is the vector of a pair's anchor, and p that of its positive; all
// vectors have length 1.
//
//   loss of a pair = -log(exp(a . p / t) / sum over candidates c of exp(a . c / t))
//
// The candidates are the positives and negatives of all pairs. Those that are right answers too are left out: the anchor's own text, and
// other positives of pairs with the same anchor.
namespace dikkat {

/// The texts of some pairs: of each pair its anchor, its positive and its negatives, one after another.
struct PairTexts {
  std::vector<index> places{};      // of each text in its pair: 0 for an anchor, 1 for a positive, 2 and more for negatives
  std::vector<std::int64_t> ids{};  // hashes of the texts' tokens: equal texts have equal ids

  index count() const { return std::ssize(places); }
  index pairs() const;
  void clear();
  /// Appends the texts of a batch.
  void add(const Batch& batch);
};

/// The losses of pairs.
struct PairLosses {
  std::vector<double> losses{};  // of each pair
  std::vector<char> right{};     // whether a pair's positive is more similar to the anchor than all other candidates
};

/// Computes the loss of each pair. `pooled` is (texts, C), of any length but 0. `slopes`, of the same shape or empty, gets the derivatives
/// of the mean loss with respect to `pooled`. Sums are added in f64, in a fixed order.
PairLosses contrast(const PairTexts& texts, std::span<const float> pooled, double temperature, std::span<float> slopes = {});

/// The results of a search for each anchor's positive among all positives and negatives. A text that occurs several times is one candidate.
/// Candidates that are right answers too are left out. Candidates that are as similar as the positive rank before it.
struct Retrieval {
  double recall_1 = 0, recall_10 = 0;  // share of anchors whose positive is the first, or among the first ten
  double mrr = 0;                      // mean of 1 / rank
  index candidates = 0;
};
Retrieval retrieve(const PairTexts& texts, std::span<const float> pooled);

}  // namespace dikkat
