#include "autograd/base/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kChunk = std::size_t{2} << 20;
constexpr std::size_t kSmall = kChunk / 4;  // buffers up to this size are parts of a chunk

std::size_t rounded(std::size_t bytes) {
  return bytes <= kSmall ? std::bit_ceil(std::max(bytes, kAlignment)) : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Buffer* BufferPool::acquire(std::size_t bytes, const char* what) {
  bytes = rounded(bytes);
  const auto smallest = std::lower_bound(free_.begin(), free_.end(), bytes, [](const Place* p, std::size_t n) { return p->bytes < n; });
  if (smallest == free_.end()) {
    Place& place = bytes > kSmall && !free_.empty() && free_.back()->bytes > kSmall ? *free_.back() : add();
    if (!free_.empty() && free_.back() == &place) {
      free_.pop_back();
      capacity_ -= std::exchange(place.bytes, 0);
      place.memory = Pages();
    }
    fill(place, bytes, what);
    return &place;
  }
  // Take the buffer of this size that was released last: it may still be in the processor's cache.
  const std::size_t size = (*smallest)->bytes;
  const auto behind = std::upper_bound(smallest, free_.end(), size, [](std::size_t n, const Place* p) { return n < p->bytes; });
  Place* const place = *(behind - 1);
  free_.erase(behind - 1);
  place->users = 1;
  return place;
}

BufferPool::Place& BufferPool::add() {
  if (free_.capacity() <= places_.size()) {
    free_.reserve(std::max<std::size_t>(2 * places_.size(), 64));  // room for all, so that release() allocates nothing
  }
  return places_.emplace_back();
}

void BufferPool::fill(Place& place, std::size_t bytes, const char* what) {
  if (bytes > kSmall) {
    place.memory = Pages(bytes, what);
    place.data = place.memory.data();
  } else {
    if (chunk_left_ < bytes) {
      chunks_.emplace_back(kChunk, what);
      chunk_ = chunks_.back().data();
      chunk_left_ = kChunk;
    }
    place.data = chunk_;
    chunk_ += bytes;
    chunk_left_ -= bytes;
  }
  place.bytes = bytes;
  place.users = 1;
  capacity_ += bytes;
}

void BufferPool::release(Buffer* buffer) {
  require(buffer->users > 0, "buffer pool: a buffer was released more often than it was acquired");
  if (--buffer->users == 0) {
    auto* const place = static_cast<Place*>(buffer);
    free_.insert(std::upper_bound(free_.begin(), free_.end(), place, [](const Place* a, const Place* b) { return a->bytes < b->bytes; }),
                 place);
  }
}

void BufferPool::reserve(const BufferPool& like) {
  std::vector<Buffer*> all;
  for (const Place& place : like.places_) {
    all.push_back(acquire(place.bytes, "gradient"));
  }
  for (Buffer* buffer : all) {
    release(buffer);
  }
}

}  // namespace dikkat
