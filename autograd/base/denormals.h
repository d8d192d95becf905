#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace dikkat {

/// A denormal operand costs some 150 cycles. The mode is a thread's own, and a worker may be new in any loop.
inline void flush_denormals_to_zero() noexcept {
#if defined(__SSE__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#endif
}

}  // namespace dikkat
