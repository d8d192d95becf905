// Random numbers have the same bits on every instruction set that has fused multiply-adds. ctest runs this program for each set of a build
// that has several.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/kernels/instruction_set.h"
#include "autograd/ops/random.h"
#include "autograd/tape/parameters.h"
#include "autograd/tape/tape.h"
#include "tests/support/values.h"

namespace dikkat {
namespace {

/// Returns a hash of the bits, by FNV-1a.
std::uint64_t bits_of(const std::vector<float>& values) {
  std::vector<char> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return hash_of({bytes.data(), bytes.size()});
}

std::uint64_t bits_of(const Init& init) {
  ParameterStore store;
  store.add("w", {129, 77}, init, Decay::no, Role::vector);
  store.allocate(1);
  return bits_of({store.weights<float>(), store.weights<float>() + 129 * 77});
}

// A processor without fused multiply-adds rounds twice.
TEST(InitialBits, AreThoseOfTheGroupOfInstructionSets) {
  const std::string_view set = kernels::instruction_set();
  if (set == "baseline") {
    GTEST_SKIP() << "compilers chose the instructions";
  }
  const bool fused = kernels::fuses_multiply_adds();
  EXPECT_EQ(bits_of(Init::uniform(-0.1, 0.3)), 0x937fec6ee6c45ad8);
  EXPECT_EQ(bits_of(Init::xavier_uniform()), 0xdeacfe9b889cb8fd);
  EXPECT_EQ(bits_of(Init::normal(0.02)), fused ? 0x35aaba4b8005e47a : 0x9254c76492f372fa);
  EXPECT_EQ(bits_of(Init::truncated_normal(0.02)), fused ? 0x09b58a8899a35bb2 : 0x13ab720c43cf459d);
  EXPECT_EQ(bits_of(Init::truncated_normal(0.02, 0.5)), fused ? 0xa951158e6d4e09f0 : 0x2a260d1fc38d2e29);
  Tape tape;
  const std::vector<float> numbers = testing::values_of<float>(normal(tape, {1000}, RandomStream(1, "normal", 0)));
  EXPECT_EQ(bits_of(numbers), fused ? 0x9d44f96d92fe1e8d : 0x28b882bf1d8514ff);
}

}  // namespace
}  // namespace dikkat
