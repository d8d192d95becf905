#include <cstdlib>
#include <new>

#include "train/system/out_of_memory.h"
#include "train/system/reserved_memory.h"

// The program's operator new: std::bad_alloc does not name the size that was asked for, and an error message should. Sanitizers keep their
// own, which finds memory that is freed in a different way than it was allocated.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define DIKKAT_OPERATOR_NEW_IS_TAKEN
#endif
#endif
#else
#define DIKKAT_OPERATOR_NEW_IS_TAKEN
#endif

#if !defined(DIKKAT_OPERATOR_NEW_IS_TAKEN)

// NOLINTBEGIN(cppcoreguidelines-no-malloc): these functions manage memory

void* operator new(std::size_t bytes) {
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr && (memory = dikkat::reserved_memory(bytes)) == nullptr) {
    throw dikkat::RefusedMemory(bytes);
  }
  return memory;
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (::posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes == 0 ? 1 : bytes) != 0) {
    throw dikkat::RefusedMemory(bytes);
  }
  return memory;
}

// The array and nothrow forms call these.
void operator delete(void* memory) noexcept {
  if (!dikkat::free_reserved_memory(memory)) {
    std::free(memory);
  }
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

// NOLINTEND(cppcoreguidelines-no-malloc)

#endif
