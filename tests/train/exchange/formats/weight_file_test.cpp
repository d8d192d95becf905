#include "train/exchange/formats/weight_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"

namespace dikkat {
namespace {

using testing::names;

using namespace formats_test;

TEST(WeightFile, AFormatIsKnownByItsFirstBytes) {
  EXPECT_EQ(weight_format_of(fixture("v3.gguf")), WeightFormat::gguf);
  EXPECT_EQ(weight_format_of(fixture("bf16.llmc.bin")), WeightFormat::llmc);
  EXPECT_EQ(weight_format_of(fixture("types.pt")), WeightFormat::torch);
  EXPECT_EQ(weight_format_of(fixture("before-1.6.pt")), WeightFormat::torch);
  EXPECT_EQ(weight_format_of(fixture("read.safetensors")), WeightFormat::safetensors);
  const TemporaryFolder folder;
  EXPECT_EQ(weight_format_of(folder.write("empty", "")), WeightFormat::safetensors);
}

TEST(WeightFile, AnyFormatIsOpenedUnderAnyName) {
  const TemporaryFolder folder;
  for (const char* name : {"v3.gguf", "f32.llmc.bin", "types.pt", "read.safetensors"}) {
    std::filesystem::copy_file(fixture(name), folder / "weights", std::filesystem::copy_options::overwrite_existing);
    const WeightFile file = open_weights(folder.path("weights"));
    EXPECT_FALSE(file.tensors().empty()) << name;
    EXPECT_EQ(file.name(), folder.path("weights"));
  }
}

TEST(WeightFile, ItsViewsLiveAsLongAsItAndAreReadAgainAfterForgetting) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(fixture("v3.gguf"), folder / "weights");
  WeightFile file = open_weights(folder.path("weights"));
  std::filesystem::remove(folder / "weights");
  const WeightFile moved = std::move(file);
  moved.forget();
  expect_tensor(moved, "token_embd.weight", WeightType::f32, {5, 4});
  EXPECT_EQ(moved.value("tokens")->array()->strings()->back(), "\xC4\xA0the");
}

TEST(WeightFile, MissingEmptyAndIrregularFilesAreRefused) {
  const TemporaryFolder folder;
  EXPECT_TRUE(names(input_error_of([&] { open_weights(folder.path("none")); }), {folder.path("none"), "No such file or directory"}));
  EXPECT_TRUE(names(input_error_of([&] { open_weights(folder.path()); }), {folder.path(), "regular file"}));
  EXPECT_TRUE(names(input_error_of([&] { open_weights(folder.write("empty", "")); }), {folder.path("empty"), "0 bytes"}));
}

TEST(WeightType, SizesDoNotOverflow) {
  const auto bytes = [](WeightType type, const std::vector<index>& shape) { return byte_count(layout_of(type), shape); };
  constexpr index kMost = std::numeric_limits<index>::max();
  EXPECT_EQ(bytes(WeightType::f32, {}), 4);
  EXPECT_EQ(bytes(WeightType::q8_0, {3, 64}), 204);
  EXPECT_EQ(bytes(WeightType::q8_0, {64, 3}), std::nullopt);
  EXPECT_EQ(bytes(WeightType::q4_0, {0, 32}), 0);
  EXPECT_EQ(bytes(WeightType::f32, {kMost}), std::nullopt);
  EXPECT_EQ(bytes(WeightType::f32, {kMost / 4}), kMost / 4 * 4);
  EXPECT_EQ(bytes(WeightType::f32, {kMost, 0, kMost}), std::nullopt);
}

TEST(WeightType, ANameInAMessageCannotControlATerminal) {
  EXPECT_EQ(in_quotes("a\x1B[2J\x7F\n"), "\"a?[2J??\"");
  EXPECT_EQ(in_quotes(std::string(200, 'a')), "\"" + std::string(100, 'a') + "...\"");
}

}  // namespace
}  // namespace dikkat
