#include "autograd/tape/tensor_records.h"

#include <mutex>
#include <utility>

namespace dikkat {

/// The blocks of tapes that are gone.
struct TensorRecords::Unused {
  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> blocks;
  std::size_t all = 0;  // blocks of the process

  /// It is never destroyed, because tapes may be static.
  static Unused& instance() {
    static auto* const unused = new Unused;
    return *unused;
  }
};

TensorRecords::~TensorRecords() {
  expire();
  Unused& unused = Unused::instance();
  const std::lock_guard lock(unused.mutex);
  for (auto& block : blocks_) {
    unused.blocks.push_back(std::move(block));  // has room: grow()
  }
}

void TensorRecords::grow() {
  Unused& unused = Unused::instance();
  const std::lock_guard lock(unused.mutex);
  blocks_.reserve(blocks_.size() + 1);
  if (unused.blocks.empty()) {
    unused.blocks.reserve(unused.all + 1);
    blocks_.push_back(std::make_unique<Block>());
    ++unused.all;
  } else {
    blocks_.push_back(std::move(unused.blocks.back()));
    unused.blocks.pop_back();
  }
}

}  // namespace dikkat
