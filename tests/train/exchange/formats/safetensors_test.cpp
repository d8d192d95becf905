#include "train/exchange/formats/safetensors.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/support.h"

namespace dikkat {
namespace {

using namespace formats_test;

std::string safetensors(std::string_view header, std::size_t data_bytes) { return Bytes().string(header).zeros(data_bytes).text(); }

std::string safetensors_error(const std::string& file) {
  return input_error_of([&] { parse_safetensors(bytes_of_text(file), "f"); });
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

TEST(Safetensors, WhatIsWrittenIsByteForByteThatOfTheFormatsOwnLibrary) {
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

TEST(Safetensors, AnotherOrderInTheHeaderIsRead) {
  const std::string text = safetensors(
      R"({"b":{"data_offsets":[4,8],"shape":[],"dtype":"F32"},"a":{"dtype":"F16","data_offsets":[0,4],"shape":[1,2]},"__metadata__":{}})",
      8);
  const WeightFile file = parse_safetensors(bytes_of_text(text), "f");
  EXPECT_EQ(file.tensors().front().name, "a");
  EXPECT_EQ(file.find("b")->data - file.find("a")->data, 4);
}

TEST(Safetensors, ADamagedFileIsRefusedWithASentence) {
  EXPECT_EQ(safetensors_error("1234567"), "f: it has 7 bytes, expected a safetensors file");
  EXPECT_EQ(safetensors_error(Bytes().number(std::uint64_t{100'000'001}).raw("{}").text()),
            "f: its first 8 bytes give a header of 100000001 bytes that begins with '{', and 2 bytes follow, expected a safetensors file");
  EXPECT_EQ(safetensors_error(Bytes().number(std::uint64_t{3}).raw("{}").text()),
            "f: its first 8 bytes give a header of 3 bytes that begins with '{', and 2 bytes follow, expected a safetensors file");
  EXPECT_EQ(error_of_header(" {}", 0),
            "f: its first 8 bytes give a header of 3 bytes that begins with '{', and 3 bytes follow, expected a safetensors file");
  EXPECT_EQ(error_of_header("{\"a\"", 0), "f: the header is not valid JSON at its byte 5");
  EXPECT_EQ(error_of_header("{} x", 0), "f: the header is not valid JSON at its byte 4");
  EXPECT_EQ(error_of_header("{\"\xFF\":0}", 0), "f: the header is not valid JSON at its byte 3");
  EXPECT_EQ(error_of_header("{}", 1),
            "f: its tensors end at byte 0 of the data, which has 1: the file was changed, or its end belongs to something else");
}

TEST(Safetensors, AHeaderThatSaysAnythingElseIsRefused) {
  constexpr const char* kForm = ", expected \"dtype\": text, \"shape\": [numbers], \"data_offsets\": [begin, end]";
  EXPECT_EQ(error_of_header(R"({"a":1})", 0), "f: the header has a number as \"a\", expected an object");
  EXPECT_EQ(error_of_header(R"({"a":null})", 0), "f: the header has a value of true, false or null as \"a\", expected an object");
  EXPECT_EQ(error_of_header(R"({"__metadata__":"x"})", 0), "f: the header has a text as __metadata__, expected an object");
  EXPECT_EQ(error_of_header(R"({"__metadata__":{"x":{}}})", 0), "f: the header has an object in __metadata__, expected texts");
  EXPECT_EQ(error_of_header(R"({"__metadata__":{"x":"1","x":"2"}})", 0), "f: it has two values named \"x\"");
  EXPECT_EQ(error_of_header(R"({"__metadata__":{},"__metadata__":{}})", 0), "f: the header has \"__metadata__\" twice");
  EXPECT_EQ(error_of_header(R"({"a":{"dtype":1}})", 0), concat("f: the header has a number in the description of tensor \"a\"", kForm));
  EXPECT_EQ(error_of_header(R"({"a":{"shape":"x"}})", 0), concat("f: the header has a text in the description of tensor \"a\"", kForm));
  EXPECT_EQ(error_of_header(R"({"a":{"shape":[[]]}})", 0), concat("f: the header has an array in the description of tensor \"a\"", kForm));
  EXPECT_EQ(error_of_header(R"({"a":{"shape":{}}})", 0), concat("f: the header has an object in the description of tensor \"a\"", kForm));
  EXPECT_EQ(error_of_header(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0), "f: the header tensor \"a\" has the field \"dtype\" twice");
  EXPECT_EQ(error_of_header(R"({"a":{"dtype":"F32","shape":[]}})", 0), "f: the header tensor \"a\" has no field \"data_offsets\"");
  EXPECT_EQ(error_of_header(R"({"a":{"strides":[]}})", 0),
            "f: the header tensor \"a\" has a field \"strides\", expected dtype, shape and data_offsets");
  EXPECT_EQ(error_of_header(R"({"a":{"data_offsets":[0]}})", 0), "f: the header tensor \"a\" has 1 data_offsets, expected 2");
  EXPECT_EQ(error_of_header(R"({"a":{"data_offsets":[0,1,2]}})", 0), "f: the header tensor \"a\" has more than 2 data_offsets");
  EXPECT_EQ(error_of_header(R"({"a":{"shape":[1,1,1,1,1,1,1,1,1]}})", 0), "f: the header tensor \"a\" has more than 8 extents");
  for (const char* number : {"-1", "1.0", "1e3", "9223372036854775808", "99999999999999999999"}) {
    EXPECT_EQ(error_of_header(concat(R"({"a":{"shape":[)", number, "]}}"), 0),
              "f: the header tensor \"a\" has a number in its shape that is not an integer of 0 or more and below 2^63");
  }
}

TEST(Safetensors, MoreThanAnyModelHasIsRefused) {
  std::string header = R"({"__metadata__":{"a":"")";
  for (std::size_t i = 1; i <= WeightFile::kMostValues; ++i) {
    header += R"(,"":"")";
  }
  EXPECT_EQ(safetensors_error(Bytes().string(header + "}}").text()), "f: the header has more than 262144 texts in __metadata__");
}

TEST(Safetensors, TensorsThatDoNotFillTheFileAreRefused) {
  const auto of = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return concat(R"({"a":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  EXPECT_EQ(error_of_header(of("F31", "[]", "[0,4]"), 4), "f: tensor \"a\" has the type \"F31\", which this program does not know");
  EXPECT_EQ(error_of_header(of("F32", "[]", "[1,5]"), 5),
            "f: tensor \"a\" lies at bytes 1 to 5 of the data, expected it to begin at 0, where the one before it ends");
  EXPECT_EQ(error_of_header(of("F32", "[0]", "[4,0]"), 5),
            "f: tensor \"a\" lies at bytes 4 to 0 of the data, expected it to begin at 0, where the one before it ends");
  EXPECT_EQ(error_of_header(of("F32", "[2]", "[0,8]"), 7), "f: tensor \"a\" ends at byte 8 of the data, and the file has 7: it is cut off");
  EXPECT_EQ(error_of_header(of("F32", "[2]", "[0,4]"), 4), "f: tensor \"a\" (F32 [2]) has 4 bytes, expected 8");
  EXPECT_EQ(error_of_header(of("F4", "[3]", "[0,2]"), 2), "f: tensor \"a\" (F4 [3]) has 2 bytes, expected 1");
  EXPECT_EQ(error_of_header(of("F32", "[4294967296,4294967296]", "[0,0]"), 0),
            "f: tensor \"a\" (F32 [4294967296, 4294967296]) has 0 bytes, expected more than any file can have");
  EXPECT_EQ(error_of_header(of("F32", "[4294967296,0,4294967296]", "[0,0]"), 0),
            "f: tensor \"a\" (F32 [4294967296, 0, 4294967296]) has 0 bytes, expected more than any file can have");
  EXPECT_EQ(error_of_header(of("F64", "[2305843009213693952]", "[0,0]"), 0),
            "f: tensor \"a\" (F64 [2305843009213693952]) has 0 bytes, expected more than any file can have");
  EXPECT_EQ(
      error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2),
      "f: it has two tensors named \"a\"");
  EXPECT_EQ(
      error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
      "f: tensor \"b\" lies at bytes 0 to 1 of the data, expected it to begin at 1, where the one before it ends");
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
  /// The message without the folder's name.
  std::string error() const {
    std::string text = input_error_of([&] { open_safetensors_index(index_path); });
    return text.starts_with(folder.path()) ? text.substr(folder.path().size() + 1) : "elsewhere: " + text;
  }
  TemporaryFolder folder{};
  std::string index_path{};
};

TEST(SafetensorsIndex, FilesAndTensorsThatDoNotAgreeWithItAreToldAtOnce) {
  constexpr const char* kOne = "model-00001-of-00002.safetensors";
  constexpr const char* kTwo = "model-00002-of-00002.safetensors";
  const auto map = [](auto... pairs) {
    std::string text;
    ((text += concat(text.empty() ? "{" : ",", "\"", pairs.first, "\":\"", pairs.second, "\"")), ...);
    return text + "}";
  };
  using Pair = std::pair<const char*, const char*>;
  EXPECT_EQ(open_safetensors_index(Sharded(map(Pair{"a", kOne}, Pair{"b", kOne}, Pair{"c", kTwo})).index_path).tensors().size(), 3U);
  EXPECT_EQ(Sharded(map(Pair{"a", kOne}, Pair{"b", "x.safetensors"}, Pair{"c", "y.safetensors"})).error(),
            "model.safetensors.index.json: files that the index names are missing beside it: \"x.safetensors\", \"y.safetensors\"");
  EXPECT_EQ(Sharded(map(Pair{"a", kOne}, Pair{"b", kOne})).error(),
            concat("model.safetensors.index.json: files beside the index are named as parts of the same model, and the index does not name "
                   "them: \"",
                   kTwo, "\""));
  EXPECT_EQ(Sharded(map(Pair{"a", kOne}, Pair{"c", kTwo})).error(),
            "model.safetensors.index.json: its files have tensors that the index does not name, or names in another file: \"b\"");
  EXPECT_EQ(Sharded(map(Pair{"a", kTwo}, Pair{"b", kOne}, Pair{"c", kTwo})).error(),
            "model.safetensors.index.json: its files have tensors that the index does not name, or names in another file: \"a\"");
  EXPECT_EQ(Sharded(map(Pair{"a", kOne}, Pair{"b", kOne}, Pair{"c", kTwo}, Pair{"d", kTwo}, Pair{"e", kOne})).error(),
            "model.safetensors.index.json: its files do not have tensors that the index names: \"d\", \"e\"");
}

TEST(SafetensorsIndex, ATextThatIsNoneIsRefused) {
  const auto error = [](std::string_view text) { return input_error_of([&] { parse_safetensors_index(text, "i"); }); };
  EXPECT_EQ(parse_safetensors_index(R"({"weight_map":{"b":"y","a":"x"},"other":[[{"weight_map":{}}]]})", "i"),
            (std::vector<ShardOfTensor>{{"a", "x"}, {"b", "y"}}));
  EXPECT_EQ(error("{"), "i: the index is not valid JSON at its byte 2");
  EXPECT_EQ(error("[]"), "i: the index is an array, expected an object");
  EXPECT_EQ(error("3"), "i: the index is not an object");
  EXPECT_EQ(error("{}"), "i: the index names no tensors, expected \"weight_map\": {tensor: file}");
  EXPECT_EQ(error(R"({"weight_map":{}})"), "i: the index names no tensors, expected \"weight_map\": {tensor: file}");
  EXPECT_EQ(error(R"({"weight_map":"a"})"), "i: the index has a text as \"weight_map\", expected an object");
  EXPECT_EQ(error(R"({"weight_map":[]})"), "i: the index has an array in \"weight_map\", expected the names of files");
  EXPECT_EQ(error(R"({"weight_map":{"a":1}})"), "i: the index has a value in \"weight_map\" that is no text, expected the names of files");
  EXPECT_EQ(error(R"({"weight_map":{"a":{}}})"), "i: the index has an object in \"weight_map\", expected the names of files");
  EXPECT_EQ(error(R"({"weight_map":{"a":"x"},"weight_map":{"b":"x"}})"), "i: the index has \"weight_map\" twice");
  EXPECT_EQ(error(R"({"weight_map":{"a":"x","a":"y"}})"), "i: the index names tensor \"a\" twice");
  for (const char* name : {"../x", "/x", "a/x", "..", ".", "", "a\\\\x", "a\\u0000"}) {
    EXPECT_NE(error(concat(R"({"weight_map":{"a":")", name, "\"}}")).find(", expected the name of a file in the same folder"),
              std::string::npos)
        << name;
  }
  const std::string deep = R"({"x":)" + std::string(1'000'000, '[');
  EXPECT_EQ(error(deep), concat("i: the index is not valid JSON at its byte ", deep.size() + 1));
}

TEST(Safetensors, WhatCannotBeWrittenIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x");
  const auto error = [&](std::vector<NewTensor> tensors) {
    std::string text = input_error_of([&] { write_safetensors(path, std::move(tensors)); });
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left";
    return text.starts_with(path) ? "x" + text.substr(path.size()) : text;
  };
  EXPECT_EQ(error({made("a", WeightType::q8_0, {32})}), "x: tensor \"a\": safetensors has no type q8_0, expected f32, f16, bf16 or f64");
  EXPECT_EQ(error({made("a", WeightType::f32, {1}), made("a", WeightType::f16, {1})}), "x: two tensors named \"a\" cannot be written");
  EXPECT_EQ(error({made("\xFF", WeightType::f32, {1})}), "x: the name \"\xFF\" is not UTF-8");
  EXPECT_EQ(error({made("a", WeightType::f32, {-1})}),
            "tensor \"a\" (f32 [-1]) cannot be written: expected at most 8 extents of 0 or more");
  const float large = 1e6F;
  EXPECT_EQ(error({new_tensor("a", WeightType::f16, {1}, &large)}),
            "tensor \"a\": the number 1e+06 cannot be stored as f16, whose largest is 65504; bf16 and f32 hold it");
}

}  // namespace
}  // namespace dikkat
