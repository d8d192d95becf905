#include <cstring>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"
#include "train/exchange/formats/ggml_types.h"
#include "train/exchange/formats/gguf_reader.h"
#include "train/exchange/formats/gguf_writer.h"

namespace dikkat {
namespace {

using testing::names;

using namespace formats_test;

constexpr std::uint64_t kLarge = ~std::uint64_t{0};

Bytes head(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
  return Bytes().raw("GGUF").number(version).number(tensors).number(values);
}

Bytes& describe(Bytes& bytes, std::string_view name, const std::vector<std::uint64_t>& dimensions, std::uint32_t type,
                std::uint64_t offset) {
  bytes.string(name).number(static_cast<std::uint32_t>(dimensions.size()));
  for (const std::uint64_t dimension : dimensions) {
    bytes.number(dimension);
  }
  return bytes.number(type).number(offset);
}

std::string padded(const Bytes& bytes, std::size_t data_bytes) {
  return bytes.text() + std::string((32 - bytes.text().size() % 32) % 32 + data_bytes, '\0');
}

WeightFile parsed(const std::string& file) { return parse_gguf(bytes_of_text(file), "x.gguf"); }
std::string gguf_error(const std::string& file) {
  const std::string message = input_error_of([&] { parsed(file); });
  EXPECT_TRUE(names(message, {"x.gguf"}));
  return message;
}

std::vector<MetaEntry> metadata() {
  const std::vector<std::string> tokens{"<|\xC3\xA9|>", "", "\xC4\xA0the"};
  const std::vector<std::int32_t> types{3, -1, 1};
  const std::vector<float> scores{0.5F, -1.0F};
  return {{"general.architecture", MetaValue("gpt2")},
          {"a.u8", MetaValue(std::uint8_t{200})},
          {"a.i8", MetaValue(std::int8_t{-100})},
          {"a.u16", MetaValue(std::uint16_t{60000})},
          {"a.i16", MetaValue(std::int16_t{-30000})},
          {"a.u32", MetaValue(std::uint32_t{4'000'000'000})},
          {"a.i32", MetaValue(std::int32_t{-2'000'000'000})},
          {"a.f32", MetaValue(1e-5F)},
          {"a.bool", MetaValue(true)},
          {"a.u64", MetaValue((std::uint64_t{1} << 63) + 1)},
          {"a.i64", MetaValue(-(std::int64_t{1} << 62))},
          {"a.f64", MetaValue(0.1)},
          {"tokens", MetaValue(tokens)},
          {"types", MetaValue(types)},
          {"scores", MetaValue(scores)}};
}

std::vector<NewTensor> tensors() {
  return {made("token_embd.weight", WeightType::f32, {5, 4}), made("half", WeightType::f16, {3}), made("q8", WeightType::q8_0, {2, 32}),
          made("q4", WeightType::q4_0, {1, 64}), made("brain", WeightType::bf16, {2, 1, 3})};
}

TEST(Gguf, FilesOfAnotherProgramAreRead) {
  for (const char* name : {"v3.gguf", "v2.gguf"}) {
    SCOPED_TRACE(name);
    const WeightFile file = open_gguf(fixture(name));
    expect_tensor(file, "token_embd.weight", WeightType::f32, {5, 4});
    expect_tensor(file, "half", WeightType::f16, {3});
    expect_tensor(file, "brain", WeightType::bf16, {2, 1, 3});
    const std::vector<float> expected = elements("q8", 64);
    const std::vector<float> found = read_all(*file.find("q8"));
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 8.0 / 127 / 2 + 0.01) << i;
    }
    EXPECT_EQ(file.find("q8")->shape, (std::vector<index>{2, 32}));
    EXPECT_EQ(file.find("q4")->type_name, "q4_0");

    EXPECT_EQ(file.value("general.architecture")->string(), "gpt2");
    EXPECT_EQ(file.value("a.u8")->integer(), 200);
    EXPECT_EQ(file.value("a.i8")->integer(), -100);
    EXPECT_EQ(file.value("a.u16")->integer(), 60000);
    EXPECT_EQ(file.value("a.i16")->integer(), -30000);
    EXPECT_EQ(file.value("a.u32")->integer(), 4'000'000'000);
    EXPECT_EQ(file.value("a.i32")->integer(), -2'000'000'000);
    EXPECT_EQ(file.value("a.f32")->number(), static_cast<double>(1e-5F));
    EXPECT_EQ(file.value("a.bool")->boolean(), true);
    EXPECT_EQ(file.value("a.u64")->integer(), std::nullopt) << "more than an index can hold";
    EXPECT_EQ(file.value("a.u64")->text(), "9223372036854775809");
    EXPECT_EQ(file.value("a.i64")->integer(), -(index{1} << 62));
    EXPECT_EQ(file.value("a.f64")->number(), 0.1);
    EXPECT_EQ(file.value("tokens")->array()->strings(), (std::vector<std::string_view>{"<|\xC3\xA9|>", "", "\xC4\xA0the"}));
    EXPECT_EQ(file.value("types")->array()->integers(), (std::vector<index>{3, -1, 1}));
    EXPECT_EQ(file.value("scores")->array()->numbers(), (std::vector<double>{0.5, -1}));
    EXPECT_TRUE(names(file.value("tokens")->text(), {"array", "3 strings"}));
  }
}

TEST(Gguf, AValueOfAnotherTypeIsNotTakenForOne) {
  const WeightFile file = open_gguf(fixture("v3.gguf"));
  EXPECT_EQ(file.value("a.u8")->string(), std::nullopt);
  EXPECT_EQ(file.value("a.u8")->boolean(), std::nullopt);
  EXPECT_EQ(file.value("a.u8")->array(), nullptr);
  EXPECT_EQ(file.value("a.u8")->number(), 200.0);
  EXPECT_EQ(file.value("a.f32")->integer(), std::nullopt);
  EXPECT_EQ(file.value("a.bool")->integer(), std::nullopt);
  EXPECT_EQ(file.value("a.bool")->number(), std::nullopt);
  EXPECT_EQ(file.value("general.architecture")->number(), std::nullopt);
  EXPECT_EQ(file.value("tokens")->array()->integers(), std::nullopt);
  EXPECT_EQ(file.value("tokens")->array()->numbers(), std::nullopt);
  EXPECT_EQ(file.value("types")->array()->strings(), std::nullopt);
  EXPECT_EQ(file.value("scores")->array()->integers(), std::nullopt);
}

TEST(Gguf, AWrittenFileIsByteForByteThatOfAnotherProgram) {
  const TemporaryFolder folder;
  write_gguf(folder.path("a.gguf"), metadata(), tensors());
  EXPECT_EQ(contents(folder.path("a.gguf")), contents(fixture("v3.gguf")));
}

TEST(Gguf, AFileThatWasReadIsWrittenUnchanged) {
  const TemporaryFolder folder;
  const WeightFile file = open_gguf(fixture("v3.gguf"));
  std::vector<NewTensor> again;
  for (const WeightTensor& tensor : file.tensors()) {
    again.push_back(
        {.name = tensor.name, .type = tensor.type, .shape = tensor.shape, .values = [&tensor](index first, index count, float* out) {
           read_f32(tensor, first, count, out);
         }});
  }
  write_gguf(folder.path("a.gguf"), file.metadata(), again);
  EXPECT_EQ(contents(folder.path("a.gguf")), contents(fixture("v3.gguf")));
}

TEST(Gguf, TensorsAreWrittenInPiecesThatJoin) {
  const TemporaryFolder folder;
  const std::vector<index> shape{3, 500'000};  // more than a piece, whose end lies inside a row
  write_gguf(folder.path("a.gguf"), {}, {made("f", WeightType::f32, shape), made("q", WeightType::q8_0, shape)});
  const WeightFile file = open_gguf(folder.path("a.gguf"));
  expect_tensor(file, "f", WeightType::f32, shape);
  const std::vector<float> values = elements("q", 1'500'000);
  std::vector<std::byte> expected(static_cast<std::size_t>(file.find("q")->bytes));
  encode(WeightType::q8_0, values.data(), 1'500'000, expected.data());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), file.find("q")->data));
}

TEST(Gguf, AnotherAlignmentIsWrittenAndRead) {
  const TemporaryFolder folder;
  write_gguf(folder.path("a.gguf"), {{"general.alignment", MetaValue(std::uint32_t{256})}}, tensors());
  const std::string text = contents(folder.path("a.gguf"));
  EXPECT_EQ(text.size() % 256, 0U);
  const WeightFile file = parsed(text);
  for (const WeightTensor& tensor : file.tensors()) {
    EXPECT_EQ((tensor.data - bytes_of_text(text).data()) % 256, 0);
  }
  expect_tensor(file, "brain", WeightType::bf16, {2, 1, 3});
}

TEST(Gguf, TheLastPaddingMayBeMissingAndTensorsMayBeEmpty) {
  Bytes bytes = head(2, 0);
  describe(bytes, "none", {0}, 0, 0);
  describe(bytes, "a", {3}, 0, 0);
  const WeightFile file = parsed(padded(bytes, 12));
  EXPECT_EQ(file.find("none")->elements, 0);
  EXPECT_EQ(file.find("a")->elements, 3);
  EXPECT_EQ(parsed(head(0, 0).text()).tensors().size(), 0U);
}

TEST(Gguf, TypesThatAreNotConvertedAreNamed) {
  Bytes bytes = head(2, 0);
  describe(bytes, "k", {256, 2}, 21, 0);
  describe(bytes, "i", {3}, 26, 224);
  const std::string text = padded(bytes, 224 + 12);
  const WeightFile file = parsed(text);
  EXPECT_EQ(file.find("k")->text(), "\"k\" (iq3_s [2, 256])");
  EXPECT_EQ(file.find("k")->type, WeightType::other);
  EXPECT_EQ(file.find("i")->type_name, "i32");
}

TEST(Gguf, ADamagedFileIsRefusedWithASentence) {
  EXPECT_TRUE(names(gguf_error(""), {"byte 0", "\"GGUF\"", "4 bytes"}));
  EXPECT_TRUE(names(gguf_error("GGML...."), {"not begin", "\"GGUF\""}));
  EXPECT_TRUE(names(gguf_error(head(0, 0, 1).text()), {"version 1", "2", "3", "llama.cpp"}));
  EXPECT_TRUE(names(gguf_error(head(0, 0, 4).text()), {"version 4", "2", "3"}));
  EXPECT_TRUE(names(gguf_error(head(0, 0, 0x0300'0000).text()), {"big-endian", "GGUF"}));
  EXPECT_TRUE(names(gguf_error(head(kLarge, 7).text()), {"18446744073709551615 tensors", "7 values", "1048576", "262144"}));
  EXPECT_TRUE(names(gguf_error(head(0, 262145).text()), {"0 tensors", "262145 values", "1048576", "262144"}));
  EXPECT_TRUE(names(gguf_error(head(0, 1).number(kLarge).text()), {"byte 32", "key", "18446744073709551615"}));
}

TEST(Gguf, AnInvalidValueIsRefused) {
  const auto value = [](std::uint32_t type) { return head(0, 1).string("k").number(type); };
  EXPECT_TRUE(names(gguf_error(value(13).text()), {"\"k\"", "type 13", "0", "12"}));
  EXPECT_TRUE(names(gguf_error(value(7).number(std::uint8_t{2}).text()), {"\"k\"", "a bool", "2", "0", "1"}));
  EXPECT_TRUE(names(gguf_error(value(10).number(std::uint32_t{2}).text()), {"byte 41", "byte 37", "8 bytes"}));
  EXPECT_TRUE(names(gguf_error(value(9).number(std::uint32_t{9}).number(std::uint64_t{1}).text()), {"\"k\"", "array of arrays"}));
  EXPECT_TRUE(names(gguf_error(value(9).number(std::uint32_t{13}).number(std::uint64_t{1}).text()), {"\"k\"", "type 13", "0", "12"}));
  EXPECT_TRUE(names(gguf_error(value(9).number(std::uint32_t{10}).number(kLarge / 8 + 2).zeros(16).text()),
                    {"\"k\"", "array", "2305843009213693953", "byte 49", "16 bytes"}));
  EXPECT_TRUE(names(gguf_error(value(9).number(std::uint32_t{8}).number(std::uint64_t{2}).string("x").number(kLarge).text()),
                    {"byte 66", "string", "array", "18446744073709551615"}));
  EXPECT_TRUE(
      names(gguf_error(value(9).number(std::uint32_t{7}).number(std::uint64_t{2}).raw("\x01\x02").text()), {"\"k\"", "a bool", "0", "1"}));
  EXPECT_TRUE(names(gguf_error(head(0, 2).string("k").number(0).raw("x").string("k").number(0).raw("x").text()), {"two values", "\"k\""}));
  for (const std::uint32_t alignment : {0U, 3U, 48U}) {
    EXPECT_TRUE(names(gguf_error(head(0, 1).string("general.alignment").number(std::uint32_t{4}).number(alignment).text()),
                      {"general.alignment", concat(alignment), "power of two", "u32"}));
  }
  EXPECT_TRUE(names(gguf_error(head(0, 1).string("general.alignment").number(std::uint32_t{8}).string("32").text()),
                    {"general.alignment", "\"32\"", "power of two", "u32"}));
}

TEST(Gguf, ATensorOutsideOfTheFileIsRefused) {
  const auto error = [](const std::vector<std::uint64_t>& dimensions, std::uint32_t type, std::uint64_t offset, std::size_t data_bytes) {
    Bytes bytes = head(1, 0);
    describe(bytes, "a", dimensions, type, offset);
    return gguf_error(padded(bytes, data_bytes));
  };
  EXPECT_TRUE(names(error({1, 1, 1, 1, 1}, 0, 0, 4), {"\"a\"", "5", "dimensions", "4"}));
  EXPECT_TRUE(names(error({kLarge}, 0, 0, 4), {"\"a\"", "dimension", "18446744073709551615"}));
  EXPECT_TRUE(names(error({1}, 4, 0, 4), {"\"a\"", "type 4", "q4_2"}));
  EXPECT_TRUE(names(error({32}, 31, 0, 18), {"\"a\"", "type 31", "q4_0_4_4", "q4_0"}));
  EXPECT_TRUE(names(error({32}, 99, 0, 18), {"\"a\"", "type 99", "42", "q8_0"}));
  EXPECT_TRUE(names(error({256}, 14, 0, 209), {"\"a\"", "210 bytes", "cut off"}));
  EXPECT_TRUE(names(error({256}, 14, 32, 512), {"\"a\"", "byte 32", "0"}));
  for (std::uint32_t type = 10; type <= 14; ++type) {  // q2_K to q6_K
    EXPECT_TRUE(names(error({128, 2}, type, 0, 512), {"\"a\"", "_K", "[2, 128]", "blocks", "256"}));
  }
  EXPECT_TRUE(names(error({33}, 8, 0, 68), {"\"a\"", "q8_0", "[33]", "too large", "blocks", "32"}));
  EXPECT_TRUE(names(error({16, 2}, 2, 0, 18), {"\"a\"", "q4_0", "[2, 16]", "too large", "blocks", "32"}));
  EXPECT_TRUE(names(error({1U << 31, 1U << 31, 4}, 0, 0, 4), {"\"a\"", "f32", "[4, 2147483648, 2147483648]", "too large", "blocks", "1"}));
  EXPECT_TRUE(names(error({1U << 31, 1U << 30}, 0, 0, 4), {"\"a\"", "f32", "[1073741824, 2147483648]", "too large", "blocks", "1"}));
  EXPECT_TRUE(names(error({1}, 0, 32, 64), {"\"a\"", "byte 32", "0"}));
  EXPECT_TRUE(names(error({2}, 0, 0, 7), {"\"a\"", "8 bytes", "byte 0", "byte 64", "71", "cut off"}));
  Bytes bytes = head(2, 0);
  describe(bytes, "a", {1}, 0, 0);
  describe(bytes, "b", {1}, 0, 4);
  EXPECT_TRUE(names(gguf_error(padded(bytes, 64)), {"\"b\"", "byte 4", "32"}));
  bytes = head(2, 0);
  describe(bytes, "a", {1}, 0, 0);
  describe(bytes, "a", {1}, 0, 32);
  EXPECT_TRUE(names(gguf_error(padded(bytes, 64)), {"two tensors", "\"a\""}));
}

TEST(Gguf, EveryCutOfAFileIsRefused) {
  const std::string whole = contents(fixture("v3.gguf"));
  const std::size_t last_tensor = whole.size() - 32;  // of 12 bytes; the rest of it is padding
  for (std::size_t size = 0; size < last_tensor + 12; ++size) {
    EXPECT_NE(gguf_error(whole.substr(0, size)), "") << size;
  }
}

TEST(Gguf, ModelsThatCannotBeWrittenAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x");
  const auto error = [&](const std::vector<MetaEntry>& values, const std::vector<NewTensor>& written) {
    const std::string message = input_error_of([&] { write_gguf(path, values, written); });
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left";
    return message;
  };
  EXPECT_TRUE(names(error({}, {made(std::string(64, 'n'), WeightType::f32, {1})}), {path, std::string(64, 'n'), "64 bytes", "63"}));
  EXPECT_TRUE(names(error({}, {made("a", WeightType::f32, {1, 1, 1, 1, 1})}), {"\"a\"", "f32", "[1, 1, 1, 1, 1]", "4 extents"}));
  EXPECT_TRUE(names(error({}, {made("a", WeightType::q4_0, {32, 8})}), {"\"a\"", "q4_0", "[32, 8]", "blocks", "32"}));
  EXPECT_TRUE(names(error({}, {made("a", WeightType::q4_K, {1, 256})}), {"\"a\"", "q4_K", "[1, 256]", "cannot be written"}));
  EXPECT_TRUE(names(error({}, {made("a", WeightType::f32, {1}), made("a", WeightType::f32, {1})}), {path, "two tensors", "\"a\""}));
  EXPECT_TRUE(names(error({{"k", MetaValue(true)}, {"k", MetaValue(false)}}, {}), {path, "two values", "\"k\""}));
  EXPECT_TRUE(names(error({{"k", MetaValue()}}, {}), {path, "\"k\"", "none", "GGUF"}));
  EXPECT_TRUE(names(error({{"general.alignment", MetaValue(std::uint32_t{24})}}, {}), {path, "general.alignment", "power of two", "u32"}));
}

}  // namespace
}  // namespace dikkat
