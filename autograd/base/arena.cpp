#include "autograd/base/arena.h"

#include <algorithm>

#include "autograd/base/error.h"

namespace dikkat {
namespace {
constexpr std::size_t kFirstChunk = std::size_t{1} << 20;
constexpr std::size_t kPage = 4096;
}  // namespace

void* Arena::allocate(std::size_t bytes, const char* what, std::size_t alignment) {
  std::size_t start = (at_ + alignment - 1) / alignment * alignment;
  if (chunks_.empty() || start > chunks_.back().size() || bytes > chunks_.back().size() - start) {
    grow(bytes, what);
    start = 0;
  }
  used_ += start + bytes - at_;
  peak_ = std::max(peak_, used_);
  at_ = start + bytes;
  return chunks_.back().data() + start;
}

void Arena::grow(std::size_t bytes, const char* what) {
  require(!frozen_, what, ": needs ", bytes, " more bytes of the ", name_, " arena, which was frozen at ", capacity_,
          " bytes after a step of the largest size; expected no larger step");
  const std::size_t size = std::max({bytes, kFirstChunk, capacity_ / 2});
  require(size >= bytes && bytes < (std::size_t{1} << 60), what, ": ", bytes, " bytes asked for, more than can be addressed");
  chunks_.emplace_back((size + kPage - 1) / kPage * kPage, what);
  capacity_ += chunks_.back().size();
  at_ = 0;
}

void Arena::take_one_chunk(std::size_t bytes) {
  chunks_.clear();
  capacity_ = 0;
  const std::size_t slack = bytes / 64 + kPage;  // for alignment: one chunk needs other padding than several
  chunks_.emplace_back((bytes + slack + kPage - 1) / kPage * kPage, name_.c_str());
  capacity_ = chunks_.back().size();
}

void Arena::reserve(std::size_t bytes) {
  if (chunks_.empty()) {
    take_one_chunk(bytes);
    at_ = 0;
  }
}

void Arena::reset() {
  if (chunks_.size() > 1) {
    take_one_chunk(peak_);
  }
  forget();
}

}  // namespace dikkat
