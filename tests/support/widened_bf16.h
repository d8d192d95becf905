#pragma once

#include "autograd/base/choose_instruction_set.h"

namespace dikkat::testing {

/// While it lives, kernels with vdpbf16ps multiply bf16 as f32, or by the instruction. Other kernels are not changed.
class WidenedBf16 {
 public:
  explicit WidenedBf16(bool widens) : before_(widens_bf16()) { set_widens_bf16(widens); }
  ~WidenedBf16() { set_widens_bf16(before_); }
  WidenedBf16(const WidenedBf16&) = delete;
  WidenedBf16& operator=(const WidenedBf16&) = delete;

 private:
  bool before_;
};

}  // namespace dikkat::testing
