#pragma once

#include <cstddef>
#include <cstdint>

namespace dikkat {

/// Memory from mmap: zeroed, aligned to 64 bytes (2 MiB or more: to 2 MiB), and on huge pages where the system has them.
class Pages {
 public:
  Pages() = default;
  /// Throws Error, which names `what` and the bytes, when the system has not enough memory.
  Pages(std::size_t bytes, const char* what);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Returns the whole pages among the `bytes` bytes at `offset` to the system. They are zero when they are touched again.
  void release(std::size_t offset, std::size_t bytes);

  /// Returns how often this process has mapped pages. In a steady state the number does not change.
  static std::int64_t requests();

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
};

/// Touches zeroed memory in equal shares on all threads. A system gives a thread memory that is near it, so later loops over equal shares,
/// such as the optimizer's, find theirs near (NUMA).
void touch_in_shares(std::byte* memory, std::size_t bytes);

/// Throws Error, which names `what` and the bytes, unless the system can give that much memory now. Called before libraries that crash
/// without memory.
void require_room(std::size_t bytes, const char* what);

}  // namespace dikkat
