#include "train/data/corpus/object_reader.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

using testing::names;
using Objects = std::vector<std::string>;

/// The objects of a text that arrives in parts of `step` bytes, each with its number.
Objects objects_of(const std::string& text, ObjectForm form, std::size_t step) {
  std::size_t at = 0;
  ObjectReader reader(form, {}, [&](std::string& out) {
    const std::string part = text.substr(at, step);
    at += part.size();
    out += part;
    return !part.empty();
  });
  Objects objects;
  while (const auto object = reader.next()) {
    objects.push_back(concat(reader.number(), *object));
  }
  EXPECT_FALSE(reader.next()) << "the end stays the end";
  return objects;
}

TEST(ObjectReader, CutsATextInPartsOfAnySize) {
  const std::string tricky = R"({"a": "},]{[\"\\", "b": [{}, 2]})";
  for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{1000}}) {
    EXPECT_EQ(objects_of("\xEF\xBB\xBF[ " + tricky + " ,\n{}\n,3] \n", ObjectForm::array, step), (Objects{"1" + tricky, "2{}", "33"}))
        << step;
    EXPECT_EQ(objects_of(tricky + "{\n}\n " + tricky, ObjectForm::stream, step), (Objects{"1" + tricky, "2{\n}", "3" + tricky})) << step;
    EXPECT_EQ(objects_of("{}\n\n  \n" + tricky + "\r\n3", ObjectForm::lines, step), (Objects{"1{}", "4" + tricky + "\r", "53"})) << step;
    for (const ObjectForm form : {ObjectForm::array, ObjectForm::stream, ObjectForm::lines}) {
      EXPECT_EQ(objects_of(form == ObjectForm::array ? " [ ] " : " \n ", form, step), Objects()) << step;
    }
  }
}

TEST(ObjectReader, RefusesABrokenArray) {
  for (const std::string text : {"[{}", "[{\"a", "[{},", "[{}] {}", "[{} {}]x", "{}", ""}) {
    EXPECT_NE(input_error_of([&] { objects_of(text, ObjectForm::array, 3); }), "") << text;
  }
  for (const std::string text : {"{\"a\": [}", "{} 3"}) {
    EXPECT_NE(input_error_of([&] { objects_of(text, ObjectForm::stream, 3); }), "") << text;
  }
}

}  // namespace
}  // namespace dikkat
