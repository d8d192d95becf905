#include "train/run/objectives/embedding_scorer.h"

#include <algorithm>
#include <numeric>

#include "autograd/base/dry_run.h"
#include "train/model/pooling.h"
#include "train/system/sha256.h"

namespace dikkat {

index EmbeddingScorer::numbers_of(const Samples& text, index sample) const { return text.lengths(sample).texts * model_.config().n_embd; }

void EmbeddingScorer::score(Pass& pass, const Batch& batch, std::span<double> numbers) {
  const Tensor pooled = pooled_features(model_, pass, batch, config_.pooling);
  if (!DryRun::active()) {
    std::copy_n(pooled.data<float>(), pooled.size(), numbers.begin());
  }
}

void EmbeddingScorer::judge(const Samples& text, std::span<const index> samples, std::span<const double> numbers,
                            std::vector<SampleLoss>& losses, Evaluation& result) {
  const auto width = static_cast<std::size_t>(model_.config().n_embd);
  const std::vector<float> pooled(numbers.begin(), numbers.end());
  const auto pairs_of = [&](index sum, index sample) { return sum + text.units(sample); };
  index left = std::accumulate(samples.begin(), samples.end(), index{0}, pairs_of);
  // Compute losses in groups of as many pairs as a step has. The last group has the rest too.
  Batch batch;
  PairTexts group, all;
  std::size_t begin = 0, first = 0;  // the group's first text among all, and its first sample
  for (std::size_t i = 0; i < samples.size(); ++i) {
    batch.reshape(1, text.lengths(samples[i]));
    text.fill(0, samples[i], 0, batch);
    group.add(batch);
    all.add(batch);
    left -= batch.units;
    if (i + 1 < samples.size() && (group.pairs() < config_.batch || left < config_.batch)) {
      continue;
    }
    const auto texts = static_cast<std::size_t>(group.count());
    const PairLosses found = contrast(group, std::span(pooled).subspan(begin * width, texts * width), config_.temperature);
    auto next = found.losses.begin();
    for (; first <= i; ++first) {
      const index pairs = text.units(samples[first]);
      losses.push_back({.of = {.loss = std::accumulate(next, next + pairs, 0.0), .weight = static_cast<double>(pairs)}});
      next += pairs;
    }
    begin += texts;
    group.clear();
  }
  const Retrieval search = retrieve(all, pooled);
  result.metrics = {{.name = "recall_1", .value = search.recall_1, .label = "recall@1"},
                    {.name = "recall_10", .value = search.recall_10, .label = "recall@10"},
                    {.name = "mrr", .value = search.mrr, .label = "MRR"},
                    {.name = "candidates", .value = static_cast<double>(search.candidates)}};
}

LossFingerprint EmbeddingScorer::fingerprint(const LossFingerprint& tokens) const {
  if (!tokens.is_known()) {
    return tokens;
  }
  const double numbers[] = {static_cast<double>(config_.batch), config_.temperature, config_.pooling == Pooling::mean ? 1.0 : 0.0};
  Sha256 contexts;
  contexts.add(std::as_bytes(std::span(tokens.contexts)));
  contexts.add(std::as_bytes(std::span(numbers)));
  return {.targets = tokens.targets, .contexts = to_hex(contexts.finish()), .text = ""};
}

}  // namespace dikkat
