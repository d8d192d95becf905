#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/tape/tensor.h"

namespace dikkat {

/// The records of a tape's tensors. A record gets a new generation when its tensor is gone, so a Tensor that is used later finds another
/// generation there. For this, memory that holds records holds nothing else until the process ends: other tapes get the blocks of a tape
/// that is destroyed.
class TensorRecords {
 public:
  TensorRecords() = default;
  ~TensorRecords();
  TensorRecords(const TensorRecords&) = delete;
  TensorRecords& operator=(const TensorRecords&) = delete;

  /// Returns a record with the members of `like`, apart from the generation.
  TensorRecord* take(const TensorRecord& like = {}) {
    if (used_ == blocks_.size() * kBlock) {
      grow();
    }
    TensorRecord* const record = &at(used_++);
    const std::uint32_t generation = record->generation;
    *record = like;
    record->generation = generation;
    return record;
  }
  /// Expires all records: no tensor has them any more.
  void expire() noexcept {
    for (; used_ > 0; --used_) {
      ++at(used_ - 1).generation;
    }
  }

 private:
  static constexpr std::size_t kBlock = 256;
  using Block = std::array<TensorRecord, kBlock>;
  struct Unused;

  TensorRecord& at(std::size_t i) { return (*blocks_[i / kBlock])[i % kBlock]; }
  void grow();

  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t used_ = 0;
};

}  // namespace dikkat
