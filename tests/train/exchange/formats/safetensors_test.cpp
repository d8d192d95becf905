#include "train/exchange/formats/safetensors.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"
#include "train/exchange/formats/safetensors_index.h"

namespace dikkat {
namespace {

using testing::names;

using namespace formats_test;

std::string safetensors(std::string_view header, std::size_t data_bytes) { return Bytes().string(header).zeros(data_bytes).text(); }

std::string safetensors_error(const std::string& file) {
  const std::string message = input_error_of([&] { parse_safetensors(bytes_of_text(file), "x.safetensors"); });
  EXPECT_TRUE(names(message, {"x.safetensors"}));
  return message;
}
std::string error_of_header(std::string_view header, std::size_t data_bytes) { return safetensors_error(safetensors(header, data_bytes)); }

TEST(Safetensors, AFileOfAnotherProgramIsRead) {
  const WeightFile file = open_safetensors(fixture("read.safetensors"));
  ASSERT_EQ(file.tensors().size(), 5U);
  expect_tensor(file, "wte.weight", WeightType::f32, {5, 4});
  expect_tensor(file, "d", WeightType::f64, {2});
  expect_tensor(file, "none", WeightType::f32, {0, 7});
  const WeightTensor* ids = file.find("ids");
  ASSERT_NE(ids, nullptr);
  EXPECT_EQ(ids->text(), "\"ids\" (I64 [2])");
  EXPECT_EQ(ids->type, WeightType::other);
  EXPECT_EQ(ids->bytes, 16);
  EXPECT_EQ(file.tensors().front().name, "odd") << "in the order of the file";
  ASSERT_NE(file.value("note"), nullptr);
  EXPECT_EQ(file.value("note")->string(), "a \"quoted\" line\n");
  EXPECT_EQ(file.value("format")->string(), "pt");
  EXPECT_EQ(file.find("no"), nullptr);
  EXPECT_EQ(file.value("no"), nullptr);
}

TEST(Safetensors, AWrittenFileIsByteForByteThatOfTheFormatsOwnLibrary) {
  const TemporaryFolder folder;
  write_safetensors(folder.path("a.safetensors"),
                    {made("h", WeightType::f16, {3, 1}), made("wte.weight", WeightType::f32, {5, 4}), made("b", WeightType::bf16, {3}),
                     made("scalar", WeightType::f32, {}), made("h.0.\xC3\xA9", WeightType::f32, {2, 3})});
  EXPECT_EQ(contents(folder.path("a.safetensors")), contents(fixture("written.safetensors")));
  const WeightFile file = open_safetensors(folder.path("a.safetensors"));
  expect_tensor(file, "h", WeightType::f16, {3, 1});
  expect_tensor(file, "b", WeightType::bf16, {3});
  expect_tensor(file, "scalar", WeightType::f32, {});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()) || std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1)
      << "no other file is left";
}

TEST(Safetensors, AFileOfNoTensorsIsOne) { EXPECT_TRUE(parse_safetensors(bytes_of_text(safetensors("{}  ", 0)), "f").tensors().empty()); }

// Writers put them before or after the object, so that the data begin at a multiple of 8.
TEST(Safetensors, BlanksAroundTheHeaderAreRead) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  for (const std::string& text : {"      " + header, "\n\t " + header + "  "}) {
    const std::string file = safetensors(text, 4);
    EXPECT_EQ(parse_safetensors(bytes_of_text(file), "f").tensors().size(), 1U);
  }
}

TEST(Safetensors, AnotherOrderInTheHeaderIsRead) {
  const std::string text = safetensors(
      R"({"b":{"data_offsets":[4,8],"shape":[],"dtype":"F32"},"a":{"dtype":"F16","data_offsets":[0,4],"shape":[1,2]},"__metadata__":{}})",
      8);
  const WeightFile file = parse_safetensors(bytes_of_text(text), "f");
  EXPECT_EQ(file.tensors().front().name, "a");
  EXPECT_EQ(file.find("b")->data - file.find("a")->data, 4);
}

TEST(Safetensors, ADamagedFileIsRefusedWithASentence) {
  EXPECT_TRUE(names(safetensors_error("1234567"), {"7 bytes"}));
  EXPECT_TRUE(names(safetensors_error(Bytes().number(std::uint64_t{100'000'001}).raw("{}").text()), {"header", "100000001", "'{'", "2"}));
  EXPECT_TRUE(names(safetensors_error(Bytes().number(std::uint64_t{3}).raw("{}").text()), {"header", "3", "'{'", "2"}));
  EXPECT_TRUE(names(error_of_header(" x{}", 0), {"header", "4", "'{'"}));
  EXPECT_TRUE(names(error_of_header("   ", 0), {"header", "3", "'{'"}));
  EXPECT_TRUE(names(error_of_header("", 0), {"header", "0", "'{'"}));
  EXPECT_TRUE(names(error_of_header("{\"a\"", 0), {"header", "JSON", "byte 5"}));
  EXPECT_TRUE(names(error_of_header("{} x", 0), {"header", "JSON", "byte 4"}));
  EXPECT_TRUE(names(error_of_header("{\"\xFF\":0}", 0), {"header", "JSON", "byte 3"}));
  EXPECT_TRUE(names(error_of_header("{}", 1), {"tensors", "byte 0", "1"}));
}

TEST(Safetensors, AHeaderWithAnythingElseIsRefused) {
  constexpr const char* kForm = R"("dtype": text, "shape": [numbers], "data_offsets": [begin, end])";
  EXPECT_TRUE(names(error_of_header(R"({"a":1})", 0), {"number", "\"a\"", "object"}));
  EXPECT_TRUE(names(error_of_header(R"({"a":null})", 0), {"null", "\"a\"", "object"}));
  EXPECT_TRUE(names(error_of_header(R"({"__metadata__":"x"})", 0), {"text", "__metadata__", "object"}));
  EXPECT_TRUE(names(error_of_header(R"({"__metadata__":{"x":{}}})", 0), {"object", "__metadata__", "texts"}));
  EXPECT_TRUE(names(error_of_header(R"({"__metadata__":{"x":"1","x":"2"}})", 0), {"two values", "\"x\""}));
  EXPECT_TRUE(names(error_of_header(R"({"__metadata__":{},"__metadata__":{}})", 0), {"\"__metadata__\"", "twice"}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"dtype":1}})", 0), {"number", "\"a\"", kForm}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"shape":"x"}})", 0), {"a text", "\"a\"", kForm}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"shape":[[]]}})", 0), {"an array", "\"a\"", kForm}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"shape":{}}})", 0), {"an object", "\"a\"", kForm}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0), {"\"a\"", "\"dtype\"", "twice"}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"dtype":"F32","shape":[]}})", 0), {"\"a\"", "no field", "\"data_offsets\""}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"strides":[]}})", 0), {"\"a\"", "\"strides\"", "shape", "data_offsets"}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"data_offsets":[0]}})", 0), {"\"a\"", "1 data_offsets", "2"}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"data_offsets":[0,1,2]}})", 0), {"\"a\"", "more than 2", "data_offsets"}));
  EXPECT_TRUE(names(error_of_header(R"({"a":{"shape":[1,1,1,1,1,1,1,1,1]}})", 0), {"\"a\"", "8 extents"}));
  for (const char* number : {"-1", "1.0", "1e3", "9223372036854775808", "99999999999999999999"}) {
    EXPECT_TRUE(names(error_of_header(concat(R"({"a":{"shape":[)", number, "]}}"), 0), {"\"a\"", "shape", "integer", "2^63"}));
  }
}

TEST(Safetensors, MoreThanAnyModelHasIsRefused) {
  std::string header = R"({"__metadata__":{"a":"")";
  for (std::size_t i = 1; i <= WeightFile::kMostValues; ++i) {
    header += R"(,"":"")";
  }
  EXPECT_TRUE(names(safetensors_error(Bytes().string(header + "}}").text()), {"262144", "__metadata__"}));
}

TEST(Safetensors, TensorsThatDoNotFillTheFileAreRefused) {
  const auto of = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return concat(R"({"a":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  EXPECT_TRUE(names(error_of_header(of("F31", "[]", "[0,4]"), 4), {"\"a\"", "type \"F31\""}));
  EXPECT_TRUE(names(error_of_header(of("F32", "[]", "[1,5]"), 5), {"\"a\"", "1 to 5", "begin at 0"}));
  EXPECT_TRUE(names(error_of_header(of("F32", "[0]", "[4,0]"), 5), {"\"a\"", "4 to 0", "begin at 0"}));
  EXPECT_TRUE(names(error_of_header(of("F32", "[2]", "[0,8]"), 7), {"\"a\"", "byte 8", "7", "cut off"}));
  EXPECT_TRUE(names(error_of_header(of("F32", "[2]", "[0,4]"), 4), {"\"a\" (F32 [2])", "4 bytes", "8"}));
  EXPECT_TRUE(names(error_of_header(of("F4", "[3]", "[0,2]"), 2), {"\"a\" (F4 [3])", "2 bytes", "1"}));
  EXPECT_TRUE(names(error_of_header(of("F32", "[4294967296,4294967296]", "[0,0]"), 0),
                    {"\"a\"", "F32", "[4294967296, 4294967296]", "0 bytes", "more"}));
  EXPECT_TRUE(names(error_of_header(of("F32", "[4294967296,0,4294967296]", "[0,0]"), 0),
                    {"\"a\"", "F32", "[4294967296, 0, 4294967296]", "0 bytes", "more"}));
  EXPECT_TRUE(
      names(error_of_header(of("F64", "[2305843009213693952]", "[0,0]"), 0), {"\"a\"", "F64", "[2305843009213693952]", "0 bytes", "more"}));
  EXPECT_TRUE(names(
      error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2),
      {"two tensors", "\"a\""}));
  EXPECT_TRUE(names(
      error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
      {"\"b\"", "0 to 1", "begin at 1"}));
}

TEST(Safetensors, EveryCutOfAFileIsRefused) {
  const std::string whole = contents(fixture("read.safetensors"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(safetensors_error(whole.substr(0, size)), "") << size;
  }
}

TEST(Safetensors, AnIndexOpensItsFiles) {
  const WeightFile file = open_safetensors_index(fixture("model.safetensors.index.json"));
  EXPECT_EQ(file.tensors().size(), 3U);
  for (const char* name : {"a", "b", "c"}) {
    expect_tensor(file, name, WeightType::f32, {2, 2});
  }
  EXPECT_EQ(open_weights(fixture("model.safetensors.index.json")).tensors().size(), 3U);
}

/// A folder with the two files of the index, whose text is changed.
struct Sharded {
  explicit Sharded(const std::string& map) {
    for (const char* name : {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
      std::filesystem::copy_file(fixture(name), folder / name);
    }
    index_path = folder.write("model.safetensors.index.json", R"({"metadata":{"x":[1,{"weight_map":2}]},"weight_map":)" + map + "}");
  }
  std::string error() const {
    const std::string message = input_error_of([&] { open_safetensors_index(index_path); });
    EXPECT_TRUE(names(message, {index_path}));
    return message;
  }
  TemporaryFolder folder{};
  std::string index_path{};
};

TEST(SafetensorsIndex, FilesAndTensorsThatDoNotAgreeWithItAreAllReported) {
  constexpr const char* kOne = "model-00001-of-00002.safetensors";
  constexpr const char* kTwo = "model-00002-of-00002.safetensors";
  const auto map = [](auto... pairs) {
    std::string text;
    ((text += concat(text.empty() ? "{" : ",", "\"", pairs.first, "\":\"", pairs.second, "\"")), ...);
    return text + "}";
  };
  using Pair = std::pair<const char*, const char*>;
  EXPECT_EQ(open_safetensors_index(Sharded(map(Pair{"a", kOne}, Pair{"b", kOne}, Pair{"c", kTwo})).index_path).tensors().size(), 3U);
  EXPECT_TRUE(names(Sharded(map(Pair{"a", kOne}, Pair{"b", "x.safetensors"}, Pair{"c", "y.safetensors"})).error(),
                    {"missing", "\"x.safetensors\"", "\"y.safetensors\""}));
  EXPECT_TRUE(names(Sharded(map(Pair{"a", kOne}, Pair{"b", kOne})).error(), {"not name", kTwo}));
  EXPECT_TRUE(names(Sharded(map(Pair{"a", kOne}, Pair{"c", kTwo})).error(), {"not name", "\"b\""}));
  EXPECT_TRUE(names(Sharded(map(Pair{"a", kTwo}, Pair{"b", kOne}, Pair{"c", kTwo})).error(), {"not name", "\"a\""}));
  EXPECT_TRUE(names(Sharded(map(Pair{"a", kOne}, Pair{"b", kOne}, Pair{"c", kTwo}, Pair{"d", kTwo}, Pair{"e", kOne})).error(),
                    {"not have", "\"d\"", "\"e\""}));
}

TEST(SafetensorsIndex, ATextThatIsNotAnIndexIsRefused) {
  const auto error = [](std::string_view text) { return input_error_of([&] { parse_safetensors_index(text, "i"); }); };
  EXPECT_EQ(parse_safetensors_index(R"({"weight_map":{"b":"y","a":"x"},"other":[[{"weight_map":{}}]]})", "i"),
            (std::vector<ShardOfTensor>{{"a", "x"}, {"b", "y"}}));
  EXPECT_TRUE(names(error("{"), {"JSON", "byte 2"}));
  EXPECT_TRUE(names(error("[]"), {"index", "array", "object"}));
  EXPECT_TRUE(names(error("3"), {"index", "not an object"}));
  EXPECT_TRUE(names(error("{}"), {"no tensors", "\"weight_map\""}));
  EXPECT_TRUE(names(error(R"({"weight_map":{}})"), {"no tensors", "\"weight_map\""}));
  EXPECT_TRUE(names(error(R"({"weight_map":"a"})"), {"text", "\"weight_map\"", "object"}));
  EXPECT_TRUE(names(error(R"({"weight_map":[]})"), {"array", "\"weight_map\"", "files"}));
  EXPECT_TRUE(names(error(R"({"weight_map":{"a":1}})"), {"value", "\"weight_map\"", "files"}));
  EXPECT_TRUE(names(error(R"({"weight_map":{"a":{}}})"), {"object", "\"weight_map\"", "files"}));
  EXPECT_TRUE(names(error(R"({"weight_map":{"a":"x"},"weight_map":{"b":"x"}})"), {"\"weight_map\"", "twice"}));
  EXPECT_TRUE(names(error(R"({"weight_map":{"a":"x","a":"y"}})"), {"\"a\"", "twice"}));
  for (const char* name : {"../x", "/x", "a/x", "..", ".", "", "a\\\\x", "a\\u0000"}) {
    EXPECT_TRUE(names(error(concat(R"({"weight_map":{"a":")", name, "\"}}")), {"\"a\"", "same folder"}));
  }
  const std::string deep = R"({"x":)" + std::string(1'000'000, '[');
  EXPECT_TRUE(names(error(deep), {"JSON", concat("byte ", deep.size() + 1)}));
}

TEST(Safetensors, TensorsThatCannotBeWrittenAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x");
  const auto error = [&](std::vector<NewTensor> tensors) {
    const std::string message = input_error_of([&] { write_safetensors(path, std::move(tensors)); });
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left";
    return message;
  };
  EXPECT_TRUE(names(error({made("a", WeightType::q8_0, {32})}), {path, "\"a\"", "type q8_0", "f32, f16, bf16 or f64"}));
  EXPECT_TRUE(names(error({made("a", WeightType::f32, {1}), made("a", WeightType::f16, {1})}), {path, "two tensors", "\"a\""}));
  EXPECT_TRUE(names(error({made("\xFF", WeightType::f32, {1})}), {path, "\"\xFF\"", "UTF-8"}));
  EXPECT_TRUE(names(error({made("a", WeightType::f32, {-1})}), {"\"a\" (f32 [-1])", "8 extents"}));
  const float large = 1e6F;
  EXPECT_TRUE(names(error({new_tensor("a", WeightType::f16, {1}, &large)}), {"\"a\"", "1e+06", "f16", "65504"}));
}

}  // namespace
}  // namespace dikkat
