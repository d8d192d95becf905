#include "train/data/samples/windows.h"

#include <algorithm>
#include <numeric>

#include "autograd/base/error.h"
#include "autograd/simd/philox.h"

namespace dikkat {
namespace {

/// Fills a row with `valid` inputs starting at `begin`, the token after each, and padding. The first target has the index `first`.
void fill_window(const TokenStore& store, index begin, index valid, index first, index row, Batch& batch) {
  const index cols = batch.lengths.cols;
  Token* inputs = batch.inputs.data() + row * cols;
  Token* targets = batch.targets.data() + row * cols;
  float* weights = batch.weights.data() + row * cols;
  store.read(begin, valid, inputs);
  store.read(begin + 1, valid, targets);
  std::fill_n(weights, valid, 1.0F);
  std::iota(batch.numbers.begin() + row * cols, batch.numbers.begin() + row * cols + valid, first);
  batch.pad(row, valid);
  batch.target_weight += static_cast<double>(valid);
}

void require_sample(index sample, index count) {
  require(0 <= sample && sample < count, "windows: window ", sample, ", expected 0 to ", count - 1);
}

}  // namespace

TrainingWindows::TrainingWindows(const TokenStore& store, index block_size, std::uint64_t seed)
    : store_(store), block_size_(block_size), seed_(seed) {
  require(block_size >= 1, "training: block_size is ", block_size, ", expected 1 or more");
  require_input(store.size() > block_size, "the text for training has ", store.size(), " tokens, expected at least ",
                static_cast<std::uint64_t>(block_size) + 1, " (model.block_size + 1): give a longer text or a smaller model.block_size");
}

index TrainingWindows::offset(index epoch) const {
  const auto words = RandomStream(seed_, "data.offset", static_cast<std::uint64_t>(epoch)).group(0);
  const std::uint64_t random = std::uint64_t{words[1]} << 32 | words[0];
  const index choices = (store_.size() - 1) % block_size_ + 1;
  return static_cast<index>(random % static_cast<std::uint64_t>(choices));
}

void TrainingWindows::fill(index epoch, index sample, index row, Batch& batch) const {
  require_sample(sample, count());
  const index begin = offset(epoch) + sample * block_size_;
  fill_window(store_, begin, block_size_, begin, row, batch);
}

SequentialWindows::SequentialWindows(const TokenStore& store, index block_size, index stride)
    : store_(store), block_size_(block_size), stride_(stride == 0 ? block_size : stride) {
  require(block_size >= 1, "evaluation: block_size is ", block_size, ", expected 1 or more");
  require_input(0 <= stride && stride <= block_size, "the stride is ", stride, ", expected 1 to ", block_size, ", the tokens in a window");
  require_input(store.size() >= 2, "the text for evaluation has ", store.size(),
                " tokens, expected at least 2: give a longer text or a larger data.val_fraction");
}

double SequentialWindows::target_weight(index sample) const {
  return static_cast<double>(std::min(block_size_, targets() - sample * stride_) - context(sample));
}

void SequentialWindows::fill(index, index sample, index row, Batch& batch) const {
  require_sample(sample, count());
  const index begin = sample * stride_;
  fill_window(store_, begin, std::min(block_size_, targets() - begin), begin, row, batch);
  std::fill_n(batch.weights.data() + row * batch.lengths.cols, context(sample), 0.0F);
  std::fill_n(batch.numbers.data() + row * batch.lengths.cols, context(sample), -1);
  batch.target_weight -= static_cast<double>(context(sample));
}

DocumentWindows::DocumentWindows(const TokenStore& store, index block_size, bool with_separators)
    : store_(store), block_size_(block_size), separators_(with_separators) {
  require(block_size >= 1, "documents: block_size is ", block_size, ", expected 1 or more");
  first_window_.reserve(static_cast<std::size_t>(store.documents()) + 1);
  first_window_.push_back(0);
  first_target_.push_back(0);
  for (index document = 0; document < store.documents(); ++document) {
    const auto [begin, end] = range(document);
    const index targets = std::max<index>(0, end - begin - 1);
    first_window_.push_back(first_window_.back() + ceil_div(targets, block_size));
    first_target_.push_back(first_target_.back() + targets);
  }
  require_input(first_window_.back() > 0,
                "no document of the text has 2 tokens or more: give a longer text, or set data.pack = \"stream\"");
}

std::pair<index, index> DocumentWindows::range(index document) const {
  const index begin = store_.document_start(document) - (separators_ && document > 0 ? 1 : 0);
  return {begin, store_.document_start(document + 1)};
}

index DocumentWindows::document_of(index sample) const {
  require_sample(sample, count());
  return static_cast<index>(std::upper_bound(first_window_.begin(), first_window_.end(), sample) - first_window_.begin()) - 1;
}

DocumentWindows::Window DocumentWindows::window(index sample) const {
  const index document = document_of(sample);
  const auto [first, end] = range(document);
  const index begin = first + (sample - first_window_[static_cast<std::size_t>(document)]) * block_size_;
  return {begin, std::min(block_size_, end - 1 - begin)};
}

double DocumentWindows::target_weight(index sample) const { return static_cast<double>(window(sample).tokens); }

void DocumentWindows::read(index sample, Token* inputs, Token* targets, float* weights) const {
  const Window w = window(sample);
  store_.read(w.begin, w.tokens, inputs);
  store_.read(w.begin + 1, w.tokens, targets);
  std::fill_n(weights, w.tokens, 1.0F);
}

void DocumentWindows::fill(index, index sample, index row, Batch& batch) const {
  const Window w = window(sample);
  const auto document = static_cast<std::size_t>(document_of(sample));
  fill_window(store_, w.begin, w.tokens, first_target_[document] + (sample - first_window_[document]) * block_size_, row, batch);
}

}  // namespace dikkat
