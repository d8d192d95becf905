#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace dikkat {

/// A std::bad_alloc with the size of the request. The program's operator new throws it.
class RefusedMemory : public std::bad_alloc {
 public:
  explicit RefusedMemory(std::size_t bytes) noexcept : bytes_(bytes) {}
  const char* what() const noexcept override { return "out of memory"; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
};

/// Throws Error "<doing>: no memory for N bytes ...". N is known only for RefusedMemory.
[[noreturn]] void fail_for_memory(const char* doing, const std::bad_alloc& refused);

/// Calls f. Converts a std::bad_alloc in it to an Error that names this phase of the work.
template <class F>
decltype(auto) naming_memory(const char* doing, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc& refused) {
    fail_for_memory(doing, refused);
  }
}

}  // namespace dikkat
