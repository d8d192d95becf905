#include "autograd/kernels/instruction_set.h"

#include "autograd/base/choose_instruction_set.h"
#include "autograd/simd/simd.h"

namespace dikkat::kernels {

const char* instruction_set() noexcept {
#if defined(__AVX512BF16__)
  return has_amx_products() ? "AMX" : "AVX-512 with bf16";
#elif defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(DIKKAT_BFMMLA)
  return "NEON with bf16";
#elif defined(DIKKAT_NEON) && defined(__ARM_FEATURE_DOTPROD)
  return "NEON with dot products";
#elif defined(DIKKAT_NEON)
  return "NEON";
#elif defined(__FMA__)
  return "AVX with FMA";
#elif defined(__SSE4_2__)
  return "SSE4.2";
#else
  return "baseline";
#endif
}

bool has_bf16_products() noexcept {
#if defined(__AVX512BF16__) || defined(DIKKAT_BFMMLA)
  return true;
#else
  return false;
#endif
}

bool fuses_multiply_adds() noexcept { return simd::kFusesMultiplyAdds; }

bool has_amx_products() noexcept {
#if defined(__AVX512BF16__)
  return uses_amx();
#else
  return false;
#endif
}

bool widens_bf16_products() noexcept {
#if defined(__AVX512BF16__)
  return !uses_amx() && widens_bf16();
#else
  return !has_bf16_products();
#endif
}

bool has_bfmmla_products() noexcept {
#if defined(DIKKAT_BFMMLA)
  return true;
#else
  return false;
#endif
}

}  // namespace dikkat::kernels
