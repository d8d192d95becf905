#pragma once

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dikkat {

/// While it lives, this thread treats denormal numbers as zero, because an operation on one takes some 150 cycles. The destructor restores
/// the previous mode.
class FlushDenormals {
 public:
  FlushDenormals() noexcept : before_(mode()) { set((before_ & kMode) != kMode, before_ | kMode); }
  ~FlushDenormals() { set((before_ & kMode) != kMode, (mode() & ~kMode) | (before_ & kMode)); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE__)
  using Register = unsigned;  // MXCSR
  static constexpr Register kFlushToZero = 0x8000;
  static constexpr Register kDenormalsAreZero = 0x0040;
  static constexpr Register kMode = kFlushToZero | kDenormalsAreZero;
  static Register mode() noexcept { return _mm_getcsr(); }
  static void set(Register mode) noexcept { _mm_setcsr(mode); }
#elif defined(__aarch64__)
  using Register = std::uint64_t;  // FPCR
  static constexpr Register kMode = Register{1} << 24;
  static Register mode() noexcept {
    Register value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set(Register mode) noexcept { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  using Register = unsigned;
  static constexpr Register kMode = 0;
  static Register mode() noexcept { return 0; }
  static void set(Register) noexcept {}
#endif
  static void set(bool differs, Register mode) noexcept {
    if (differs) {
      set(mode);
    }
  }

  Register before_;
};

}  // namespace dikkat
