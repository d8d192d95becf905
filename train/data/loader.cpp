#include "train/data/loader.h"

#include <limits>

#include "autograd/base/error.h"
#include "autograd/base/philox.h"
#include "train/data/permutation.h"

namespace dikkat {

Loader::Loader(const TokenStore& store, index block_size, std::uint64_t seed)
    : store_(store), block_size_(block_size), windows_(0), seed_(seed) {
  require(block_size >= 1, "loader: block_size is ", block_size, ", expected 1 or more");
  require_input(store.size() > block_size, "the text for training has ", store.size(), " tokens, expected at least ",
                static_cast<std::uint64_t>(block_size) + 1, " (model.block_size + 1): give a longer text or a smaller model.block_size");
  windows_ = (store.size() - 1) / block_size;
}

index Loader::offset(index epoch) const {
  const auto words = RandomStream(seed_, "data.offset", static_cast<std::uint64_t>(epoch)).group(0);
  const std::uint64_t random = std::uint64_t{words[1]} << 32 | words[0];
  const index choices = (store_.size() - 1) % block_size_ + 1;
  return static_cast<index>(random % static_cast<std::uint64_t>(choices));
}

void Loader::fill(index first_sample, index count, Batch& batch) const {
  require(first_sample >= 0 && count >= 1 && first_sample <= std::numeric_limits<index>::max() - count, "loader: ", count, " samples from ",
          first_sample, " on, expected 1 or more from 0 or more on");
  batch.reshape(count, block_size_);
  for (index row = 0; row < count;) {
    const index epoch = (first_sample + row) / windows_;
    const Permutation order(windows_, seed_, static_cast<std::uint64_t>(epoch));
    const index start = offset(epoch);
    for (index rank = (first_sample + row) % windows_; rank < windows_ && row < count; ++rank, ++row) {
      const index at = start + order(rank) * block_size_;
      store_.read(at, block_size_, batch.inputs.data() + row * block_size_);
      store_.read(at + 1, block_size_, batch.targets.data() + row * block_size_);
    }
  }
}

double Loader::target_weight(index, index count) const { return static_cast<double>(count * block_size_); }

}  // namespace dikkat
