#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dikkat {

/// While it lives, this thread treats denormal numbers as zero, because an operation on one takes some 150 cycles. The destructor restores
/// the previous mode.
class FlushDenormals {
#if defined(__SSE__)
 public:
  FlushDenormals() noexcept : before_(_mm_getcsr()) {
    if ((before_ & kMode) != kMode) {
      _mm_setcsr(before_ | kMode);
    }
  }
  ~FlushDenormals() {
    if ((before_ & kMode) != kMode) {
      _mm_setcsr((_mm_getcsr() & ~kMode) | (before_ & kMode));
    }
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kDenormalsAreZero = 0x0040;
  static constexpr unsigned kMode = kFlushToZero | kDenormalsAreZero;

  unsigned before_;
#else
 public:
  FlushDenormals() noexcept {}  // NOLINT(modernize-use-equals-default): a variable of it is used
#endif
};

}  // namespace dikkat
