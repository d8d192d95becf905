#include "train/system/json_fields.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using nlohmann::json;
using testing::names;

TEST(JsonFields, ReadsFieldsThatMayBeMissing) {
  const json object = {{"x", 0.5}, {"n", 3}, {"on", true}, {"none", nullptr}, {"large", 18446744073709551615U}};
  const JsonFields fields(object, "x.json");
  const auto error = [](const auto& read) { return input_error_of(read); };
  EXPECT_EQ(fields.number("x", 0, 1), 0.5);
  EXPECT_EQ(fields.number("none", 0, 1), std::nullopt);
  EXPECT_EQ(fields.integer("n", 0, 3), 3);
  EXPECT_EQ(fields.integer("missing", 0, 3), std::nullopt);
  EXPECT_TRUE(fields.flag("on"));
  EXPECT_FALSE(fields.flag("none"));
  EXPECT_TRUE(fields.flag("none", true));
  EXPECT_TRUE(names(error([&] { fields.number("x", 1, 2); }), {"x.json", "x is 0.5", "1", "2"}));
  EXPECT_TRUE(names(error([&] { fields.number("on", 1, 2); }), {"x.json", "on is true"}));
  EXPECT_TRUE(names(error([&] { fields.integer("n", 0, 2); }), {"x.json", "n is 3", "0", "2"}));
  EXPECT_TRUE(names(error([&] { fields.integer("x", 0, 2); }), {"x.json", "x is 0.5"}));
  EXPECT_TRUE(names(error([&] { fields.integer("large", 0, 2); }), {"x.json", "large is 18446744073709551615"}));
  EXPECT_TRUE(names(error([&] { fields.flag("n"); }), {"x.json", "n is 3", "true or false"}));
}

TEST(JsonFields, ReadsFieldsThatMustBeThere) {
  const json object = {{"a", "x"}, {"list", {"x", "y"}}, {"mixed", {"x", 1}}, {"none", nullptr}};
  const JsonFields fields(object, "x.json");
  EXPECT_EQ(fields.text("a"), "x");
  EXPECT_EQ(fields.texts("list"), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(names(input_error_of([&] { fields.text("none"); }), {"x.json", "none is missing"}));
  EXPECT_TRUE(names(input_error_of([&] { fields.text("list"); }), {"x.json", R"(list is ["x","y"])"}));
  EXPECT_TRUE(names(input_error_of([&] { fields.texts("mixed"); }), {"x.json", R"(mixed is ["x",1])"}));
  EXPECT_NO_THROW(fields.require_exactly({"a", "list", "mixed", "none"}));
  EXPECT_TRUE(names(input_error_of([&] { fields.require_exactly({"a", "list", "none"}); }), {"x.json", "mixed"}));
  EXPECT_TRUE(names(input_error_of([&] { fields.require_exactly({"a", "b"}); }), {"x.json", "b is missing"}));
}

TEST(JsonFields, ThrowsTheErrorOfItsUser) {
  const json object = {{"n", 3}};
  const JsonFields fields(object, "here", [](const std::string& where, const std::string& name, const std::string& problem) {
    throw std::out_of_range(where + '|' + name + '|' + problem.substr(0, 4));
  });
  EXPECT_EQ(testing::error_of<std::out_of_range>([&] { fields.flag("n"); }), "here|n|is 3");
}

}  // namespace
}  // namespace dikkat
