#include "autograd/base/buffer_pool.h"

#include "autograd/base/error.h"

namespace dikkat {
namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kChunk = std::size_t{2} << 20;
}  // namespace

BufferPool::SizeClass& BufferPool::size_class(std::size_t bytes) {
  for (SizeClass& candidate : classes_) {
    if (candidate.bytes == bytes) {
      return candidate;
    }
  }
  return classes_.emplace_back(SizeClass{bytes, {}});
}

Buffer* BufferPool::acquire(std::size_t bytes, const char* what) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  SizeClass& same = size_class(bytes);
  if (!same.free.empty()) {
    Buffer* buffer = same.free.back();
    same.free.pop_back();
    buffer->users = 1;
    return buffer;
  }
  Buffer buffer{nullptr, bytes, 1};
  if (bytes > kChunk / 4) {
    pages_.emplace_back(bytes, what);
    buffer.data = pages_.back().data();
  } else {
    if (chunk_left_ < bytes) {
      pages_.emplace_back(kChunk, what);
      chunk_ = pages_.back().data();
      chunk_left_ = kChunk;
    }
    buffer.data = chunk_;
    chunk_ += bytes;
    chunk_left_ -= bytes;
  }
  capacity_ += bytes;
  buffers_.push_back(buffer);
  return &buffers_.back();
}

void BufferPool::release(Buffer* buffer) {
  require(buffer->users > 0, "buffer pool: a buffer was released more often than it was acquired");
  if (--buffer->users == 0) {
    size_class(buffer->bytes).free.push_back(buffer);
  }
}

}  // namespace dikkat
