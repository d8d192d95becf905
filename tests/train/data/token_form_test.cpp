#include "train/data/tokens/token_form.h"

#include <bit>

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/throws.h"

// The width of the ids of a token file without a header.
namespace dikkat {
namespace {

using testing::names;

/// Ids with the frequencies of a text: low ones are frequent.
std::vector<std::uint32_t> ids(index count, std::uint32_t vocab_size) {
  std::vector<std::uint32_t> values;
  std::uint32_t state = 7;
  for (index i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back((state >> 16U) % (i % 2 == 0 ? vocab_size : std::min(vocab_size, 1000U)));
  }
  return values;
}

/// These ids as values of another type.
template <class T, class F>
std::string bytes_as(const std::vector<std::uint32_t>& values, F&& f) {
  std::vector<T> out;
  for (const std::uint32_t value : values) {
    out.push_back(f(value));
  }
  return {reinterpret_cast<const char*>(out.data()), out.size() * sizeof(T)};
}
template <class T>
std::string bytes_as(const std::vector<std::uint32_t>& values) {
  return bytes_as<T>(values, [](std::uint32_t value) { return static_cast<T>(value); });
}

TokenForm form_of(const std::string& data, index vocab_size) { return token_form(std::as_bytes(std::span(data)), data.size(), vocab_size); }

TEST(TokenForm, FindsTheWidthOfIds) {
  for (const std::uint32_t vocab_size : {65U, 50257U, 151936U}) {
    for (const index count : {index{16}, index{1000}, index{400000}}) {
      const auto values = ids(count, std::min(vocab_size, 65536U));
      EXPECT_EQ(form_of(bytes_as<std::uint16_t>(values), vocab_size).width, 2) << vocab_size << ' ' << count;
      EXPECT_EQ(form_of(bytes_as<std::uint16_t>(values), vocab_size).problem, "") << vocab_size << ' ' << count;
      EXPECT_EQ(form_of(bytes_as<std::uint32_t>(values), vocab_size).width, 4) << vocab_size << ' ' << count;
      EXPECT_EQ(form_of(bytes_as<std::int64_t>(values), vocab_size).width, 8) << vocab_size << ' ' << count;
    }
  }
  std::vector<std::uint32_t> high = ids(1000, 60000);
  for (std::size_t i = 0; i < high.size(); i += 3) {
    high[i] += 90000;
  }
  EXPECT_EQ(form_of(bytes_as<std::uint32_t>(high), 151936).width, 4);
  EXPECT_EQ(form_of(bytes_as<std::int64_t>(high), 151936).width, 8);
}

// An example is the letters of DNA: both bytes of each id are small, which must not be taken for the other order of bytes.
TEST(TokenForm, OfAVerySmallVocabularyIsSixteenBits) {
  const std::string data = bytes_as<std::uint16_t>(ids(1000, 5));
  EXPECT_EQ(form_of(data, 5).width, 2);
  EXPECT_EQ(form_of(data, 5).problem, "");
}

TEST(TokenForm, DividesTheSize) {
  const auto values = ids(1000, 50257);
  EXPECT_NE(form_of(bytes_as<std::int64_t>(values) + std::string(4, '\0'), 50257).width, 8);
  EXPECT_NE(form_of(bytes_as<std::uint32_t>(values) + std::string(2, '\0'), 50257).width, 4);
}

TEST(TokenForm, TooFewIdsCountAsSixteenBits) {
  EXPECT_EQ(form_of("", 50257).width, 2);
  EXPECT_EQ(form_of(std::string("\x05\0\0\0\x06\0\0\0", 8), 50257).width, 2);
  EXPECT_EQ(form_of(std::string(4096, '\0'), 50257).width, 2) << "only zeros: any width is possible";
}

TEST(TokenForm, NamesFilesThatCannotBeIds) {
  const auto values = ids(1000, 50257);
  const auto problem = [&](const std::string& data) { return form_of(data, 50257).problem; };
  const auto swapped16 =
      bytes_as<std::uint16_t>(values, [](std::uint32_t value) { return __builtin_bswap16(static_cast<std::uint16_t>(value)); });
  EXPECT_TRUE(names(problem(swapped16), {"16 bits", "big endian"}));
  EXPECT_TRUE(names(problem(bytes_as<std::uint32_t>(values, [](std::uint32_t value) { return __builtin_bswap32(value); })), {"32 bits"}));
  EXPECT_TRUE(names(problem(bytes_as<std::uint64_t>(values, [](std::uint32_t value) { return __builtin_bswap64(value); })), {"64 bits"}));
  EXPECT_TRUE(names(problem(bytes_as<float>(values)), {"floating-point"})) << "ids as float32";
  EXPECT_TRUE(names(problem(bytes_as<double>(values)), {"floating-point"})) << "ids as float64";
  EXPECT_TRUE(names(problem(bytes_as<float>(values, [](std::uint32_t value) { return 0.02F * static_cast<float>(value % 77) - 0.7F; })),
                    {"floating-point"}))
      << "weights";
  EXPECT_NE(problem(bytes_as<std::uint16_t>(values,
                                            [](std::uint32_t value) {
                                              return static_cast<std::uint16_t>(
                                                  std::bit_cast<std::uint32_t>(0.02F * static_cast<float>(value % 77) - 0.7F) >> 16U);
                                            }))
                .find("floating-point"),
            std::string::npos)
      << "weights as bf16";
  std::string prose;
  for (int i = 0; i < 100; ++i) {
    prose += "The lamp turns and ships go by.\n";
  }
  EXPECT_TRUE(names(problem(prose), {"text", ".txt"}));
}

}  // namespace
}  // namespace dikkat
