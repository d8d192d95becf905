// Compiled as if for AVX-512ER, which only one processor has had.
#undef __AVX512ER__
#define __AVX512ER__ 1                         // NOLINT(bugprone-reserved-identifier)
#include "autograd/base/instruction_sets.cpp"  // NOLINT(bugprone-suspicious-include)
