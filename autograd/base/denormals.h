#pragma once

#include <cstdint>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dikkat {

/// While it lives, this thread treats denormal numbers in one way. The destructor restores the previous mode.
class DenormalMode {
 public:
  DenormalMode(const DenormalMode&) = delete;
  DenormalMode& operator=(const DenormalMode&) = delete;

 protected:
  explicit DenormalMode(bool flush) noexcept : before_(mode()) { change(before_, flush ? before_ | kMode : before_ & ~kMode); }
  ~DenormalMode() {
    const Register now = mode();
    change(now, (now & ~kMode) | (before_ & kMode));
  }

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
  static void change(Register now, Register wanted) noexcept {
    if (wanted != now) {
      set(wanted);
    }
  }

  Register before_;
};

/// Treats denormal numbers as zero, because operations on them are very slow.
class FlushDenormals : public DenormalMode {
 public:
  FlushDenormals() noexcept : DenormalMode(true) {}
};

/// Keeps denormal numbers, in parallel loops too, for conversions that other programs do without flushing.
class KeepDenormals : public DenormalMode {
 public:
  KeepDenormals() noexcept : DenormalMode(false) {}
};

}  // namespace dikkat
