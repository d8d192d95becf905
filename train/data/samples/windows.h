#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "train/data/samples/packed_samples.h"
#include "train/data/samples/samples.h"
#include "train/data/tokens/token_store.h"

namespace dikkat {

/// A text of N tokens for training: W = floor((N - 1) / T) windows of T inputs, whose targets are the tokens after them. Window i starts at
/// token o + i * T. The offset o in [0, (N - 1) mod T] changes from epoch to epoch.
class TrainingWindows : public Samples {
 public:
  /// Keeps a reference to the store. Throws InputError if it has fewer than T + 1 tokens, and Error unless T >= 1.
  TrainingWindows(const TokenStore& store, index block_size, std::uint64_t seed);

  /// Returns the token at which window 0 starts in an epoch.
  index offset(index epoch) const;

  index count() const override { return (store_.size() - 1) / block_size_; }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = block_size_}; }
  double target_weight(index) const override { return static_cast<double>(block_size_); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const TokenStore& store_;
  index block_size_;
  std::uint64_t seed_;
};

/// A whole text for evaluation: each of its N - 1 predictions counts exactly once. Window w begins at token w * S, where S is the stride.
/// The last S predictions of a window count; in the first window all do. With S = T, windows are adjacent. With a smaller stride, each
/// prediction after the first window has at least T - S tokens of context, at T / S times the work.
class SequentialWindows : public Samples {
 public:
  /// Keeps a reference to the store. A stride of 0 means T. Throws InputError if the store has fewer than 2 tokens or the stride is not 0
  /// to T, and Error unless block_size >= 1.
  SequentialWindows(const TokenStore& store, index block_size, index stride = 0);

  /// Returns N - 1, the number of predictions in all windows.
  index targets() const { return store_.size() - 1; }

  index count() const override { return targets() <= block_size_ ? 1 : 1 + ceil_div(targets() - block_size_, stride_); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = block_size_}; }
  double target_weight(index sample) const override;
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  /// Returns the number of predictions at the start of a window that do not count, because their tokens are only context.
  index context(index sample) const { return sample == 0 ? 0 : block_size_ - stride_; }

  const TokenStore& store_;
  index block_size_;
  index stride_;
};

/// Windows that do not cross document boundaries, for training and for evaluation. Each document is split into windows of T tokens; the
/// last one may be shorter. The separators before and after a document belong to it, so that the model sees its beginning and learns its
/// end. No other token of another document is seen or predicted.
class DocumentWindows : public Samples, public Sequences {
 public:
  /// Keeps a reference to the store. Throws InputError if no document has 2 tokens, and Error unless block_size >= 1.
  DocumentWindows(const TokenStore& store, index block_size, bool with_separators);

  index count() const override { return first_window_.back(); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = block_size_}; }
  double target_weight(index sample) const override;
  void fill(index epoch, index sample, index row, Batch& batch) const override;
  // The Sequences interface, to pack several windows into a row.
  index length(index sample) const override { return window(sample).tokens; }
  void read(index sample, Token* inputs, Token* targets, float* weights) const override;

 private:
  /// The inputs of a window are tokens `begin` to `begin + tokens - 1`; it predicts the token after each.
  struct Window {
    index begin, tokens;
  };
  Window window(index sample) const;
  index document_of(index sample) const;
  /// Returns the range [first, second) of the document's tokens, with its separators.
  std::pair<index, index> range(index document) const;

  const TokenStore& store_;
  index block_size_;
  bool separators_;                    // whether there are separators between documents
  std::vector<index> first_window_{};  // the first window of each document, and the number of all windows
  std::vector<index> first_target_{};  // the index of each document's first target, and the number of all targets
};

}  // namespace dikkat
