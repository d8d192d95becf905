#pragma once

#include <cstdint>

#if defined(__aarch64__)

// X(macro, name, bit, word, flag) for each instruction set that compilers may use on their own. The compiler's macro is 1 if it may use the
// set. The name is Linux's, as in /proc/cpuinfo. The bit is for kCompiledFor. The flag is in the word that getauxval() returns.
#define DIKKAT_INSTRUCTION_SETS(X)                                               \
  X(__ARM_FEATURE_CRC32, "crc32", 0, AT_HWCAP, HWCAP_CRC32)                      \
  X(__ARM_FEATURE_ATOMICS, "atomics", 1, AT_HWCAP, HWCAP_ATOMICS)                \
  X(__ARM_FEATURE_QRDMX, "asimdrdm", 2, AT_HWCAP, HWCAP_ASIMDRDM)                \
  X(__ARM_FEATURE_FP16_SCALAR_ARITHMETIC, "fphp", 3, AT_HWCAP, HWCAP_FPHP)       \
  X(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC, "asimdhp", 4, AT_HWCAP, HWCAP_ASIMDHP) \
  X(__ARM_FEATURE_FP16_FML, "asimdfhm", 5, AT_HWCAP, HWCAP_ASIMDFHM)             \
  X(__ARM_FEATURE_DOTPROD, "asimddp", 6, AT_HWCAP, HWCAP_ASIMDDP)                \
  X(__ARM_FEATURE_COMPLEX, "fcma", 7, AT_HWCAP, HWCAP_FCMA)                      \
  X(__ARM_FEATURE_JCVT, "jscvt", 8, AT_HWCAP, HWCAP_JSCVT)                       \
  X(__ARM_FEATURE_RCPC, "lrcpc", 9, AT_HWCAP, HWCAP_LRCPC)                       \
  X(__ARM_FEATURE_SVE, "sve", 10, AT_HWCAP, HWCAP_SVE)                           \
  X(__ARM_FEATURE_FRINT, "frint", 11, AT_HWCAP2, HWCAP2_FRINT)                   \
  X(__ARM_FEATURE_MATMUL_INT8, "i8mm", 12, AT_HWCAP2, HWCAP2_I8MM)               \
  X(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC, "bf16", 13, AT_HWCAP2, HWCAP2_BF16)    \
  X(__ARM_FEATURE_SVE2, "sve2", 14, AT_HWCAP2, HWCAP2_SVE2)

#elif defined(__x86_64__)

// clang 19 and gcc 15 no longer know the set that only Knights processors had.
#if defined(__clang__) || __GNUC__ > 14
#define DIKKAT_KNIGHTS_SETS(X)
#else
#define DIKKAT_KNIGHTS_SETS(X) X(__AVX512ER__, "avx512er", 21)
#endif

// X(macro, name, bit) for each instruction set that compilers may use on their own. The compiler's macro is 1 if it may use the set; the
// name is for __builtin_cpu_supports(), and the bit for kCompiledFor.
#define DIKKAT_INSTRUCTION_SETS(X)              \
  X(__SSE4_2__, "sse4.2", 0)                    \
  X(__POPCNT__, "popcnt", 1)                    \
  X(__AVX__, "avx", 2)                          \
  X(__AVX2__, "avx2", 3)                        \
  X(__FMA__, "fma", 4)                          \
  X(__BMI__, "bmi", 5)                          \
  X(__BMI2__, "bmi2", 6)                        \
  X(__AVX512F__, "avx512f", 7)                  \
  X(__AVX512CD__, "avx512cd", 8)                \
  X(__AVX512DQ__, "avx512dq", 9)                \
  X(__AVX512BW__, "avx512bw", 10)               \
  X(__AVX512VL__, "avx512vl", 11)               \
  X(__AVX512IFMA__, "avx512ifma", 12)           \
  X(__AVX512VBMI__, "avx512vbmi", 13)           \
  X(__AVX512VBMI2__, "avx512vbmi2", 14)         \
  X(__AVX512VNNI__, "avx512vnni", 15)           \
  X(__AVX512BITALG__, "avx512bitalg", 16)       \
  X(__AVX512VPOPCNTDQ__, "avx512vpopcntdq", 17) \
  X(__AVX512BF16__, "avx512bf16", 18)           \
  X(__GFNI__, "gfni", 19)                       \
  X(__VPCLMULQDQ__, "vpclmulqdq", 20)           \
  DIKKAT_KNIGHTS_SETS(X)

#else
#define DIKKAT_INSTRUCTION_SETS(X)
#endif

namespace dikkat {

/// The instruction sets that the library was compiled for. Reading it needs none of them, because it is data.
extern const std::uint32_t kCompiledFor;

}  // namespace dikkat
