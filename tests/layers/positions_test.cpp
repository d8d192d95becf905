#include "layers/positions.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

std::vector<float> rows_of(const SinusoidalPositions& waves, index first, index time) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor rows = waves(pass, first, time, DType::f32);
  return {rows.data<float>(), rows.data<float>() + rows.size()};
}

/// A model may be shared by several threads, such as those of a server. A table that grew with the longest sequence so far moved under its
/// readers.
TEST(SinusoidalPositions, MayBeReadByThreadsAtOnce) {
  constexpr index kPlaces = 512, kWidth = 32;
  const std::vector<float> expected = rows_of(SinusoidalPositions(kPlaces, kWidth), 0, kPlaces);
  const SinusoidalPositions shared(kPlaces, kWidth);
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < found.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (index time = 1; time <= kPlaces; time *= 2) {
        found[thread] = rows_of(shared, 0, time);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<float>& rows : found) {
    EXPECT_EQ(rows, expected);
  }
}

TransformerConfig rotary(index head_size, double theta) {
  TransformerConfig c{.n_head = 2};
  c.head_size = head_size;
  c.positions = Positions::rope;
  c.rope_theta = theta;
  return with_defaults(c);
}

std::vector<double> angles_of(const RotaryPositions& positions, index first, index time) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor rows = positions(pass, first, time, DType::f64);
  return {rows.data<double>(), rows.data<double>() + rows.size()};
}

void expect_frequencies(const TransformerConfig& config, const std::vector<double>& expected) {
  const std::vector<double> found = RotaryPositions(config).frequencies();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t d = 0; d < found.size(); ++d) {
    EXPECT_NEAR(found[d] / expected[d], 1, 1e-14) << d;
  }
}

// theta^(-2 d / D), by repeated multiplication.
std::vector<double> plain_frequencies(index head_size, double theta) {
  std::vector<double> expected;
  double frequency = 1;
  for (index d = 0; d < head_size / 2; ++d, frequency /= std::pow(theta, 2.0 / static_cast<double>(head_size))) {
    expected.push_back(frequency);
  }
  return expected;
}

TEST(RotaryPositions, TurnByPowersOfTheta) {
  expect_frequencies(rotary(2, 10'000), {1});
  expect_frequencies(rotary(8, 10'000), {1, 0.1, 0.01, 0.001});
  expect_frequencies(rotary(10, 500'000), plain_frequencies(10, 500'000));
}

TEST(RotaryPositions, ScaledLinearlyTurnAsOftenOverALongerContext) {
  TransformerConfig c = rotary(8, 10'000);
  c.rope_scaling = RopeScaling::linear;
  c.rope_factor = 4;
  expect_frequencies(c, {0.25, 0.025, 0.0025, 0.00025});
}

// Meta's description, by wavelengths: short ones, below context / high, are kept; long ones, above context / low, become factor times as
// long. Between, context / wavelength between low and high gives the mixture.
TEST(RotaryPositions, ScaledAsLlama3KeepTheShortWavesAndStretchTheLong) {
  TransformerConfig c = rotary(64, 500'000);
  c.rope_scaling = RopeScaling::llama3;
  c.rope_factor = 32;
  c.rope_low_freq_factor = 1;
  c.rope_high_freq_factor = 4;
  c.rope_original_context = 8192;
  std::vector<double> expected;
  int kept = 0, stretched = 0;
  for (const double frequency : plain_frequencies(64, 500'000)) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    if (wavelength < 8192.0 / 4) {
      expected.push_back(frequency);
      ++kept;
    } else if (wavelength > 8192.0 / 1) {
      expected.push_back(frequency / 32);
      ++stretched;
    } else {
      const double smooth = (8192 / wavelength - 1) / (4 - 1);
      expected.push_back((1 - smooth) * frequency / 32 + smooth * frequency);
    }
  }
  expect_frequencies(c, expected);
  EXPECT_EQ(kept, 15);
  EXPECT_EQ(stretched, 14) << "so three are mixed";
  EXPECT_TRUE(std::is_sorted(expected.rbegin(), expected.rend())) << "the order of the waves does not change";
}

TEST(RotaryPositions, OfAShareOfAHeadLeaveTheOtherPairs) {
  TransformerConfig c = rotary(16, 10'000);
  c.rope_share = 0.5;
  std::vector<double> expected = plain_frequencies(8, 10'000);
  const std::vector<double> found = RotaryPositions(c).frequencies();
  ASSERT_EQ(found.size(), 8U);
  for (std::size_t d = 0; d < 4; ++d) {
    EXPECT_NEAR(found[d] / expected[d], 1, 1e-14) << d;
    EXPECT_EQ(found[4 + d], 0) << d;
  }
  const std::vector<double> row = angles_of(RotaryPositions(c), 7, 1);
  for (std::size_t d = 4; d < 8; ++d) {
    EXPECT_EQ(row[d], 1) << "the cosine is exact, so the number does not change";
    EXPECT_EQ(row[8 + d], 0);
  }
  EXPECT_EQ(rope_divisors(c).size(), 4U);
}

// Phi-4-mini: sqrt(1 + ln 32 / ln 4096) = 1.1902, by its two contexts.
TEST(RotaryPositions, OfLongRopeHaveADivisorForEachPairAndAnAmplitude) {
  TransformerConfig c = rotary(16, 10'000);
  c.rope_share = 0.75;
  c.rope_scaling = RopeScaling::longrope;
  c.rope_factor = 32;
  c.rope_original_context = 4096;
  c.rope_short_factors = {1, 2, 1, 4, 1, 8};
  c.rope_amplitude = Defaulted<double>();
  c = with_defaults(c);
  EXPECT_NEAR(*c.rope_amplitude, std::sqrt(1 + 5.0 / 12), 1e-15) << "32 = 2^5, and 4096 = 2^12";
  EXPECT_NEAR(*c.rope_amplitude, 1.1902, 5e-5);
  const std::vector<double> plain = plain_frequencies(12, 10'000), found = RotaryPositions(c).frequencies();
  ASSERT_EQ(found.size(), 8U);
  for (std::size_t d = 0; d < 6; ++d) {
    EXPECT_NEAR(found[d] * c.rope_short_factors[d] / plain[d], 1, 1e-14) << d;
  }
  const std::vector<double> row = angles_of(RotaryPositions(c), 7, 1);
  for (std::size_t d = 0; d < 8; ++d) {
    const double amplitude = d < 6 ? *c.rope_amplitude : 1;
    EXPECT_NEAR(row[d], amplitude * std::cos(7 * found[d]), 1e-14) << d;
    EXPECT_NEAR(row[8 + d], amplitude * std::sin(7 * found[d]), 1e-14) << d << ": numbers that are not rotated stay";
  }
  EXPECT_EQ(rope_divisors(c), c.rope_short_factors);
  // Both keys count without the scaling too, and the amplitude may be given.
  c.rope_scaling = RopeScaling::none;
  c.rope_amplitude = 0.5;
  EXPECT_EQ(RotaryPositions(c).frequencies(), found);
  EXPECT_EQ(angles_of(RotaryPositions(c), 0, 1)[0], 0.5);
  c.rope_scaling = RopeScaling::linear;
  c.rope_factor = 2;
  EXPECT_NEAR(RotaryPositions(c).frequencies()[3], found[3] / 2, 1e-15);
  c.rope_factor = 1;
  c.rope_scaling = RopeScaling::longrope;
  c.rope_amplitude = Defaulted<double>();
  EXPECT_EQ(*with_defaults(c).rope_amplitude, 1) << "the context does not become longer";
}

// Other layers of the same model are scaled.
TEST(RotaryPositions, OfLayersWithAWindowMayHaveTheirOwnBase) {
  TransformerConfig c = rotary(8, 1'000'000);
  c.rope_scaling = RopeScaling::linear;
  c.rope_factor = 8;
  EXPECT_EQ(RotaryPositions(c, true).frequencies(), RotaryPositions(c).frequencies());
  c.rope_theta_local = 10'000;
  EXPECT_EQ(RotaryPositions(c, true).frequencies(), RotaryPositions(rotary(8, 10'000)).frequencies());
  EXPECT_NEAR(RotaryPositions(c).frequencies()[0], 0.125, 1e-15);
  c.rope_short_factors = {2, 2, 2, 2};
  c.rope_amplitude = 3;
  EXPECT_EQ(RotaryPositions(c, true).frequencies(), RotaryPositions(rotary(8, 10'000)).frequencies());
  EXPECT_EQ(angles_of(RotaryPositions(c, true), 0, 1)[0], 1);
  EXPECT_EQ(angles_of(RotaryPositions(c), 0, 1)[0], 3);
}

TEST(RotaryPositions, AreCosinesAndSinesOfTheirAngles) {
  const RotaryPositions positions(rotary(6, 100));
  const std::vector<double> frequencies = plain_frequencies(6, 100);
  const std::vector<double> rows = angles_of(positions, 1000, 3);
  ASSERT_EQ(rows.size(), 3U * 6);
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t d = 0; d < 3; ++d) {
      const double angle = static_cast<double>(1000 + t) * frequencies[d];
      EXPECT_NEAR(rows[t * 6 + d], std::cos(angle), 1e-12);
      EXPECT_NEAR(rows[t * 6 + 3 + d], std::sin(angle), 1e-12);
    }
  }
}

TEST(RotaryPositions, CountOnFromTheFirst) {
  const RotaryPositions positions(rotary(10, 10'000));
  const std::vector<double> whole = angles_of(positions, 0, 50);
  for (const index first : {0, 1, 17, 49}) {
    EXPECT_EQ(angles_of(positions, first, 50 - first), std::vector<double>(whole.begin() + first * 10, whole.end())) << first;
  }
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor rows = positions(pass, 0, 50, DType::f32);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(rows.data<float>()[i], static_cast<float>(whole[i])) << "f32 has the angles of f64, rounded once";
  }
}

/// Compares, for each sequence, the rows that begin at its own position.
template <class P>
void expect_rows_of_each(const P& positions, index width) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const std::vector<std::int32_t> first = {5, 0, 40};
  const Tensor rows = positions(pass, tape.input<std::int32_t>({3}, first), 7, DType::f32);
  ASSERT_EQ(rows.shape(), (Shape{3, 7, width}));
  for (index b = 0; b < 3; ++b) {
    const Tensor own = positions(pass, index{first[static_cast<std::size_t>(b)]}, 7, DType::f32);
    EXPECT_TRUE(std::equal(own.data<float>(), own.data<float>() + own.size(), rows.data<float>() + b * own.size())) << b;
  }
}

TEST(RotaryPositions, MayBeginElsewhereInEachSequence) { expect_rows_of_each(RotaryPositions(rotary(10, 10'000)), 10); }

TEST(SinusoidalPositions, MayBeginElsewhereInEachSequence) {
  const SinusoidalPositions waves(47, 6);
  expect_rows_of_each(waves, 6);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor first = tape.input<std::int32_t>({2}, std::vector<std::int32_t>{0, 41});
  EXPECT_TRUE(names(testing::error_of([&] { waves(pass, first, 7, DType::f32); }), {"positions", "41", "47", "0", "46"}));
}

}  // namespace
}  // namespace dikkat
