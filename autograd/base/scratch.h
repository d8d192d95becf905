#pragma once

#include <cstddef>

#include "autograd/base/index.h"
#include "autograd/base/pages.h"

namespace dikkat {

/// Leases bytes of this thread's scratch memory while it lives. Scratch<T> leases elements of T.
class ScratchLease {
 public:
  explicit ScratchLease(std::size_t bytes);
  ~ScratchLease();
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;

  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
  Pages own_pages_;  // memory of only this lease, if the thread's memory is too small
};

/// Scratch memory of this thread for one scope: `count` elements, 64-byte aligned, not initialized. Leases nest like a stack: each ends
/// with its scope. The thread keeps as much memory as was ever leased at once, so later leases of the same sizes allocate nothing. Throws
/// Error when the system has no memory.
template <class T>
class Scratch {
 public:
  explicit Scratch(index count) : lease_(static_cast<std::size_t>(count) * sizeof(T)) {}

  T* data() const { return static_cast<T*>(lease_.data()); }
  operator T*() const { return data(); }  // NOLINT(google-explicit-constructor): converts as an array does

 private:
  ScratchLease lease_;
};

/// Returns the bytes that this thread has leased at the moment.
std::size_t scratch_in_use() noexcept;

/// Returns this thread's scratch memory to the system, unless some of it is leased.
void drop_scratch() noexcept;

}  // namespace dikkat
