#pragma once

// Vectors and functions of them are compiled for the instruction set of the source that includes them. Each set has an inline namespace of
// its own, and so has the library. So a linker never takes a function of one for that of another, which would be slower or unknown to the
// processor. Code that is compiled without optimization has one too, so that tests run the library's functions and not their own slow
// copies.
#if defined(DIKKAT_LIBRARY) && defined(__OPTIMIZE__)
#define DIKKAT_INSTRUCTION_SET in_library
#elif defined(DIKKAT_LIBRARY)
#define DIKKAT_INSTRUCTION_SET unoptimized
#elif defined(__AVX512F__)
#define DIKKAT_INSTRUCTION_SET for_avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define DIKKAT_INSTRUCTION_SET for_avx2
#else
#define DIKKAT_INSTRUCTION_SET for_any
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions of vectors are inline: no other source calls them by another convention
#endif
