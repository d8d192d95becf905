#pragma once

#include <cstddef>

#include "autograd/base/index.h"
#include "autograd/base/pages.h"

namespace dikkat {

/// Bytes of this thread's scratch memory, for as long as it lives: Scratch<T>, untyped.
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
  Pages own_;  // where the thread's memory has no room for it yet
};

/// Memory of this thread for the work of a scope: `count` elements, 64-byte aligned, not initialised. Leases nest like a stack: each goes
/// back at the end of its scope. The thread keeps the memory, as much as was leased at once at most, so asking again for what was
/// asked for before takes nothing from the system. Throws Error when the system has none.
template <class T>
class Scratch {
 public:
  explicit Scratch(index count) : lease_(static_cast<std::size_t>(count) * sizeof(T)) {}

  T* data() const { return static_cast<T*>(lease_.data()); }
  operator T*() const { return data(); }  // NOLINT(google-explicit-constructor): it stands for its first element, as an array does

 private:
  ScratchLease lease_;
};

/// Bytes that this thread has leased now.
std::size_t scratch_in_use() noexcept;

/// Gives this thread's scratch memory back to the system, unless some of it is leased.
void drop_scratch() noexcept;

}  // namespace dikkat
