// Compiled as if for AVX-512ER, which only one processor has had; on arm64 as if for SVE2, which the emulated one lacks.
#undef __AVX512ER__
#define __AVX512ER__ 1  // NOLINT(bugprone-reserved-identifier)
#undef __ARM_FEATURE_SVE2
#define __ARM_FEATURE_SVE2 1                   // NOLINT(bugprone-reserved-identifier)
#include "autograd/base/instruction_sets.cpp"  // NOLINT(bugprone-suspicious-include)
