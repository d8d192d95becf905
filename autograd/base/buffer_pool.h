#pragma once

#include <deque>
#include <vector>

#include "autograd/base/pages.h"

namespace dikkat {

/// A block of memory with a count of its users.
struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  int users = 0;
};

/// Reuses buffers. A request gets the smallest free buffer that is large enough, so shorter steps use the buffers of longer ones. If all
/// free buffers are too small, a new one replaces the largest of them. So there are never more large buffers than were in use at once.
class BufferPool {
 public:
  /// Returns a buffer of at least `bytes` with one user. Contents are not initialized. Throws Error when the system has no memory.
  Buffer* acquire(std::size_t bytes, const char* what);
  void share(Buffer* buffer) { ++buffer->users; }
  /// The last user's release returns the buffer to the pool. This allocates nothing. Throws Error for a buffer that has no users.
  void release(Buffer* buffer);

  /// Returns the bytes of all buffers, in use or not.
  std::size_t capacity() const { return capacity_; }

  /// Maps buffers of all the sizes that another pool has.
  void reserve(const BufferPool& like);

 private:
  struct Place : Buffer {
    Pages memory{};  // a large buffer's memory; a small one is part of a chunk
  };

  Place& add();
  void fill(Place& place, std::size_t bytes, const char* what);

  std::deque<Place> places_;
  std::vector<Place*> free_;  // sorted by size
  std::vector<Pages> chunks_;
  std::byte* chunk_ = nullptr;  // the unused rest of the last chunk
  std::size_t chunk_left_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace dikkat
