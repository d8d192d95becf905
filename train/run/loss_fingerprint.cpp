#include "train/run/loss_fingerprint.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "train/system/sha256.h"

namespace dikkat {
namespace {

template <class T>
void add(Sha256& hash, std::span<const T> values) {
  hash.add(std::as_bytes(values));
}
template <class T>
  requires std::is_trivially_copyable_v<T>
void add(Sha256& hash, const T& value) {
  hash.add(std::as_bytes(std::span(&value, 1)));
}

/// Reads rows in their natural order, and makes three hashes: of the scored tokens, of their contexts, and of the scored text.
class ScoredHash {
 public:
  explicit ScoredHash(const Tokenizer& tokenizer) : tokenizer_(tokenizer), is_lossless_(tokenizer.is_lossless()) {
    const Digest vocabulary = sha256(tokenizer.to_json());  // ids mean nothing without it
    add(targets_, vocabulary);
    add(contexts_, vocabulary);
    for (const SpecialToken& token : tokenizer.special_tokens()) {
      special_.push_back(token.id);
    }
    std::ranges::sort(special_);
  }

  /// Adds a row of an evaluation. `source` is the input of an encoder.
  void row(std::span<const Token> inputs, std::span<const Token> targets, std::span<const float> weights, std::span<const Token> source) {
    while (!inputs.empty() && weights[inputs.size() - 1] == 0) {  // padding, and tokens from which nothing is predicted
      inputs = inputs.first(inputs.size() - 1);
    }
    const index lengths[] = {std::ssize(inputs), std::ssize(source)};
    add(contexts_, std::span<const index>(lengths));
    add(contexts_, source);
    add(contexts_, inputs);
    targets_of_row_.clear();
    if (is_first_ && !inputs.empty()) {  // no context predicts the first token of a text, but it is part of the text
      take_text(inputs.front());
    }
    is_first_ = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (weights[i] != 0) {
        targets_of_row_.push_back({.target = targets[i], .weight = weights[i]});
        places_.push_back(static_cast<std::int32_t>(i));
        take_text(targets[i]);
      }
    }
    add(targets_, std::span<const Target>(targets_of_row_));
    add(contexts_, std::ssize(places_));
    add(contexts_, std::span<const std::int32_t>(places_));
    places_.clear();
  }

  LossFingerprint finish() {
    add_text();
    LossFingerprint set{.targets = to_hex(targets_.finish())};
    add(contexts_, std::span<const char>(set.targets));
    set.contexts = to_hex(contexts_.finish());
    set.text = is_lossless_ ? to_hex(text_.finish()) : "";
    return set;
  }

 private:
  struct Target {
    Token target;
    float weight;
  };

  void take_text(Token token) {
    constexpr std::size_t kAtOnce = 1 << 16;
    if (is_lossless_ && !std::ranges::binary_search(special_, token)) {
      tokens_.push_back(token);
      if (tokens_.size() == kAtOnce) {
        add_text();
      }
    }
  }
  void add_text() {
    const std::string text = tokenizer_.decode(tokens_);
    add(text_, std::span<const char>(text));
    tokens_.clear();
  }

  const Tokenizer& tokenizer_;
  bool is_lossless_;
  bool is_first_ = true;
  std::vector<Token> special_;  // special tokens in rising order
  Sha256 targets_, contexts_, text_;
  std::vector<Target> targets_of_row_;
  std::vector<std::int32_t> places_;  // places of the targets in the row
  std::vector<Token> tokens_;         // tokens whose text is not hashed yet
};

void add_sequences(ScoredHash& scored, const Sequences& sequences) {
  for_each_sequence(sequences,
                    [&](index, const auto& inputs, const auto& targets, const auto& weights) { scored.row(inputs, targets, weights, {}); });
}

void add_samples(ScoredHash& scored, const Samples& samples) {
  Batch batch;
  for (index i = 0; i < samples.count(); ++i) {
    batch.reshape(1, samples.lengths(i));
    samples.fill(0, i, 0, batch);
    const auto source = batch.source_lengths.empty() ? 0 : static_cast<std::size_t>(batch.source_lengths[0]);
    scored.row(batch.inputs, batch.targets, batch.weights, std::span(batch.source).first(source));
  }
}

}  // namespace

LossFingerprint loss_fingerprint_of(const Dataset& data, const Tokenizer& tokenizer) {
  if (data.evaluation() == nullptr) {
    return {};
  }
  ScoredHash scored(tokenizer);
  if (const Sequences* sequences = data.scored()) {
    add_sequences(scored, *sequences);
  } else {
    add_samples(scored, *data.evaluation());
  }
  return scored.finish();
}

LossFingerprint combined(std::span<const SharedFingerprint> sets) {
  if (sets.size() == 1) {
    return sets.front().of;
  }
  double shares = 0;
  for (const SharedFingerprint& one : sets) {
    shares += one.share;
  }
  const auto of = [&](std::string LossFingerprint::* member) -> std::string {
    Sha256 hash;
    for (const SharedFingerprint& one : sets) {
      const std::string& digest = one.of.*member;
      if (digest.empty()) {
        return "";
      }
      add(hash, one.share / shares);
      add(hash, std::span<const char>(digest));
    }
    return sets.empty() ? "" : to_hex(hash.finish());
  };
  return {.targets = of(&LossFingerprint::targets), .contexts = of(&LossFingerprint::contexts), .text = of(&LossFingerprint::text)};
}

}  // namespace dikkat
