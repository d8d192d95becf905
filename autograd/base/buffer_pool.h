#pragma once

#include <deque>
#include <vector>

#include "autograd/base/pages.h"

namespace dikkat {

/// A piece of memory with a count of its users.
struct Buffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  int users = 0;
};

/// Buffers that are used again: a step asks for the same sizes as the one before, so from the second on nothing is allocated.
class BufferPool {
 public:
  /// A buffer of at least `bytes` with one user. Contents are not initialised. Throws Error when the system has no memory.
  Buffer* acquire(std::size_t bytes, const char* what);
  void share(Buffer* buffer) { ++buffer->users; }
  /// The last user's release gives it back to the pool.
  void release(Buffer* buffer);

  /// Bytes of all buffers, in use or not.
  std::size_t capacity() const { return capacity_; }

 private:
  struct SizeClass {
    std::size_t bytes;
    std::vector<Buffer*> free;
  };

  SizeClass& size_class(std::size_t bytes);

  std::deque<Buffer> buffers_;
  std::vector<SizeClass> classes_;
  std::vector<Pages> pages_;
  std::byte* chunk_ = nullptr;  // small buffers are cut from a chunk
  std::size_t chunk_left_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace dikkat
