#include "train/text/json_line.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

TEST(JsonLine, ReportsThePlaceOfAnErrorAndTheExpectedText) {
  const auto said = [](std::string_view line) { return input_error_of([&] { parse_json_line(line); }); };
  EXPECT_TRUE(names(said(""), {"column 1", "JSON", "'['", "'{'"}));
  EXPECT_TRUE(names(said(R"({"a": 1,})"), {"column 9", "JSON", "'}'"}));
  EXPECT_TRUE(names(said(R"({"a": 1)"), {"column 8", "JSON", "'}'"}));
  EXPECT_TRUE(names(said(R"({"a": "x})"), {"column 10", "JSON", "quote"})) << R"({"a": "x})";
  EXPECT_EQ(said(R"({"a": "x})").find("\"x}"), std::string::npos) << "the string may be long";
  EXPECT_TRUE(names(said(R"({'a': 1})"), {"column 2", "JSON", "string"}));
  EXPECT_TRUE(names(said(R"({"a": "x - y; last read: 'z'; expected w" 3})"), {"column 43", "JSON", "number", "'}'"}));
  EXPECT_EQ(said(R"({"a": "x - y; last read: 'z'; expected w" 3})").find("last read"), std::string::npos);
  EXPECT_TRUE(names(said("{\"\xC3\xBC\": 1]"), {"column 8", "JSON", "']'", "'}'"})) << "columns are characters";
  EXPECT_TRUE(names(said("{\"\xFF\": 1}"), {"column 3", "JSON", "UTF-8"}));
  EXPECT_TRUE(names(said("[1e999]"), {"f64", "1.8e308"}));
  EXPECT_TRUE(names(said(std::string(200'000, '[')), {"nested", "100"}));
  EXPECT_THROW(parse_json_line("["), BadJson);
  EXPECT_EQ(parse_json_line("[1, 2]\r").size(), 2U);
}

}  // namespace
}  // namespace dikkat
