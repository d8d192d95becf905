#pragma once

#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "autograd/base/pages.h"

namespace dikkat {

/// A bump allocator: reset() frees everything at once. Memory is 64-byte aligned and not initialized.
/// At first it grows chunk by chunk. reset() replaces the chunks by one of their size, so later rounds of the same size need no new memory.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit Arena(std::string name) : name_(std::move(name)) {}

  /// Throws Error when frozen and full (the message names the arena, `what` and the bytes), or when the system has no memory.
  void* allocate(std::size_t bytes, const char* what, std::size_t alignment = kAlignment);
  template <class T>
  T* allocate(index count, const char* what) {
    return static_cast<T*>(allocate(static_cast<std::size_t>(count) * sizeof(T), what));
  }

  /// Maps one chunk of `bytes` for a first round whose peak() is known. Does nothing if there is a chunk already. Throws Error when the
  /// system has no memory.
  void reserve(std::size_t bytes);

  /// Frees everything. Pointers into the arena are invalid afterwards.
  void reset();
  /// Does what reset() does, but makes no system call: the next reset() joins the chunks.
  void forget() noexcept {
    at_ = 0;
    used_ = 0;
  }
  /// Makes later growth throw Error. Call it after the largest step: a larger one would be a mistake.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  std::size_t used() const { return used_; }
  std::size_t peak() const { return peak_; }
  std::size_t capacity() const { return capacity_; }

 private:
  void take_one_chunk(std::size_t bytes);
  void grow(std::size_t bytes, const char* what);

  std::string name_;
  std::vector<Pages> chunks_;
  std::size_t at_ = 0;    // offset in the last chunk
  std::size_t used_ = 0;  // bytes in all chunks, padding included
  std::size_t peak_ = 0;
  std::size_t capacity_ = 0;  // bytes of all chunks
  bool frozen_ = false;
};

}  // namespace dikkat
