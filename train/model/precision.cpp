#include "train/model/precision.h"

#include <utility>

#include "autograd/base/choose_instruction_set.h"
#include "autograd/base/error.h"
#include "autograd/kernels/instruction_set.h"

namespace dikkat {
namespace {

struct Choice {
  Precision precision;
  const char* reason;
};

/// Returns the precision that "auto" selects on this processor, by the measurements in bench/results/bf16.md. A measurement at the start of
/// a run would make its bits depend on the clock.
Choice choice_for_this_processor() {
  if (!kernels::has_bf16_products()) {
    return {Precision::f32, "this processor, or this build, has no bf16 products"};
  }
  if (kernels::has_amx_products()) {
    return {Precision::bf16, "this processor multiplies bf16 by AMX, at several times the rate of f32"};
  }
#if defined(__aarch64__)
  return {Precision::f32, "the speed of bf16 was not measured on arm64 processors"};
#endif
  if (has_fast_vdpbf16ps()) {
    return {Precision::bf16, "this processor multiplies bf16 at twice the rate of f32"};
  }
  return {Precision::f32, "bf16 products without AMX are not faster than f32 on this processor"};
}

}  // namespace

std::string settle_precision(Config& config) {
  std::string reason;
  Precision& precision = config.train.precision;
  if (precision == Precision::auto_) {
    const Choice choice = choice_for_this_processor();
    precision = choice.precision;
    reason = choice.reason;
  }
  Precision& of_muon = config.optim.muon_precision;
  if (of_muon == Precision::auto_) {
    of_muon = precision;
  }
  for (const auto& [key, chosen] : {std::pair("train.precision", precision), std::pair("optim.muon_precision", of_muon)}) {
    require_input(chosen != Precision::bf16 || kernels::has_bf16_products() || config.train.emulate_bf16, key,
                  " is \"bf16\", but this processor, or this build of dikkat, has no instruction for it: use a processor with AVX-512 "
                  "BF16 or with BF16 of arm64, set ",
                  key, " = \"f32\", or set train.emulate_bf16 = true, which computes the same products and is not faster than f32");
  }
  return reason;
}

DType operand_type(const TrainConfig& config) { return config.precision == Precision::bf16 ? DType::bf16 : DType::f32; }

}  // namespace dikkat
