#include "train/text/json_line.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

TEST(JsonLine, SaysWhereItIsWrongAndWhatWasExpected) {
  const auto said = [](std::string_view line) { return input_error_of([&] { parse_json_line(line); }); };
  EXPECT_EQ(said(""), "column 1: not valid JSON: unexpected end of the line; expected '[', '{', or a literal");
  EXPECT_EQ(said(R"({"a": 1,})"), "column 9: not valid JSON: unexpected '}'; expected string literal");
  EXPECT_EQ(said(R"({"a": 1)"), "column 8: not valid JSON: unexpected end of the line; expected '}'");
  EXPECT_EQ(said(R"({"a": "x})"), "column 10: not valid JSON: invalid string: missing closing quote")
      << "without the string, which may be long";
  EXPECT_EQ(said(R"({'a': 1})"), "column 2: not valid JSON: invalid literal; expected string literal");
  EXPECT_EQ(said(R"({"a": "x - y; last read: 'z'; expected w" 3})"), "column 43: not valid JSON: unexpected number literal; expected '}'");
  EXPECT_EQ(said("{\"\xC3\xBC\": 1]"), "column 8: not valid JSON: unexpected ']'; expected '}'") << "columns are characters";
  EXPECT_EQ(said("{\"\xFF\": 1}"), "column 3: not valid JSON: invalid string: ill-formed UTF-8 byte; expected string literal");
  EXPECT_EQ(said("[1e999]"), "has a number beyond those of f64, up to 1.8e308");
  EXPECT_THROW(parse_json_line("["), BadJson);
  EXPECT_EQ(parse_json_line("[1, 2]\r").size(), 2U);
}

}  // namespace
}  // namespace dikkat
