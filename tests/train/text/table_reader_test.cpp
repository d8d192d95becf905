#include "train/text/table_reader.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"

// Tables by RFC 4180, and what people write instead.
namespace dikkat {
namespace {

using testing::names;
using Rows = std::vector<std::vector<std::string>>;

TableReader::Source in_parts(const std::string& text, std::size_t step) {
  return [text, step, at = std::size_t{0}](std::string& out) mutable {
    const std::string part = text.substr(at, step);
    at += part.size();
    out += part;
    return !part.empty();
  };
}

/// The header and the rows of a text that arrives in parts of `step` bytes.
Rows rows_of(const std::string& text, std::size_t step = 1000) {
  TableReader table(in_parts(text, step));
  Rows rows = {table.columns()};
  while (table.next()) {
    rows.emplace_back(table.fields().begin(), table.fields().end());
  }
  EXPECT_FALSE(table.next()) << "the end stays the end";
  return rows;
}

/// The message for a broken table, and the row and line that it is about.
std::string refusal_of(const std::string& text, std::size_t step) {
  std::optional<TableReader> table;
  const std::string message = testing::error_of<BadTable>([&] {
    table.emplace(in_parts(text, step));
    while (table->next()) {
    }
  });
  return concat("row ", table ? table->row() : 1, " line ", table ? table->line() : 1, ' ', message);
}

TEST(TableReader, ReadsEachForm) {
  const Rows plain = {{"a", "b"}, {"1", "2"}, {"3", ""}};
  const struct {
    std::string text;
    Rows rows;
  } cases[] = {{"a,b\n1,2\n3,\n", plain},
               {"a,b\r\n1,2\r\n3,", plain},
               {"a,b\r1,2\r3,\r", plain},
               {"\xEF\xBB\xBF\"a\",\"b\"\n\"1\",2\n\"3\",\"\"", plain},
               {"a;b\n1;2\n3;\n", plain},
               {" a \tb\n1\t2\n3\t\n", plain},
               {"a,b\n\n1,2\n,\n\"\",\"\"\r\n3,\n\n\n", plain},  // rows without any text
               {"\"a;b;c\",\"b;;\"\n1;2,3\n", {{"a;b;c", "b;;"}, {"1;2", "3"}}},
               {"a,b\n\"x, \"\"y\"\"\r\nz\",\"\"\"\"\n", {{"a", "b"}, {"x, \"y\"\r\nz", "\""}}},
               {"a,b\nsay \"hi\", \"you\"\n", {{"a", "b"}, {"say \"hi\"", " \"you\""}}},  // quotes within a field are text
               {"text\nships\nlamps, two\n", {}},
               {"text\n\"lamps, two\"\n", {{"text"}, {"lamps, two"}}},
               {",a\n0,x\n", {{"", "a"}, {"0", "x"}}},  // the index that pandas writes
               {"a,b\n\xC3\xA9,\xF0\x9F\x98\x80\n", {{"a", "b"}, {"\xC3\xA9", "\xF0\x9F\x98\x80"}}},
               {"a,b\n", {{"a", "b"}}},
               {"a", {{"a"}}}};
  for (const auto& [text, rows] : cases) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{1000}}) {
      if (rows.empty()) {
        EXPECT_TRUE(names(refusal_of(text, step), {"row 3", "line 3", "1 field"})) << text;
      } else {
        EXPECT_EQ(rows_of(text, step), rows) << text << step;
      }
    }
  }
}

TEST(TableReader, FieldsMayBeLongerThanParts) {
  const std::string cell(100'000, 'x'), quoted = "\"" + cell + "\"\"\n" + cell + '"';
  EXPECT_EQ(rows_of("a,b\n" + cell + ',' + quoted + '\n', 4096), (Rows{{"a", "b"}, {cell, cell + "\"\n" + cell}}));
}

TEST(TableReader, CountsRowsAndLines) {
  TableReader table(in_parts("a,b\r\n\r\n\"x\ny\",\"\r\n\"\n1,2\r3,4\n", 3));
  Rows places;
  while (table.next()) {
    places.push_back({concat(table.row()), concat(table.line())});
  }
  EXPECT_EQ(places, (Rows{{"3", "3"}, {"4", "6"}, {"5", "7"}}));
}

TEST(TableReader, NamesTheRowThatIsWrong) {
  using namespace std::string_literals;
  const struct {
    std::string text;
    std::vector<std::string> parts;
  } cases[] = {{"", {"row 1", "empty"}},
               {"\n\n", {"row 1", "empty"}},
               {"a,b,a\n1,2,3\n", {"row 1", "\"a\"", "twice"}},
               {"a,b\n1\n", {"row 2", "1 field", "2"}},
               {"a,b\n1,2\n1,2,3\n", {"row 3", "2 fields"}},
               {"a,b\n1,2\n\"3\n,4\n5,6\n", {"row 3", "line 3", "field 1", "never closes"}},
               {"a,\"b\n1,2\n", {"row 1", "field 2", "never closes"}},
               {"a,b\n\"x\ny\",2\n3,\"4\"5\n", {"row 3", "line 4", "field 2", "closing quote"}},
               {"a,b\n1,\xFF\n", {"row 2", "byte 0", "field 2", "UTF-8"}},
               {"a,b\n1,x\xC3\n", {"row 2", "byte 1", "field 2", "UTF-8"}},
               {"a,b\n\xC3,\xA9\n", {"row 2", "byte 0", "field 1", "UTF-8"}},  // no character across fields
               {"a,b\n1,2\n3,x\0y\n"s, {"row 3", "byte 1", "field 2", "NUL"}},
               {std::string(70'000, ','), {"row 1", "65536"}}};
  for (const auto& [text, parts] : cases) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{100'000}}) {
      EXPECT_TRUE(names(refusal_of(text, step), parts)) << text.substr(0, 100) << step;
    }
  }
}

TEST(TableReader, AQuoteThatNeverClosesDoesNotTakeAllMemory) {
  index read = 0;
  const TableReader::Source endless = [&](std::string& out) {
    out += read++ == 0 ? "a,b\n1,\"2\n" : std::string(std::size_t{1} << 20, 'x');
    return true;
  };
  TableReader table(endless);
  EXPECT_TRUE(names(testing::error_of<BadTable>([&] { table.next(); }), {"64 MiB", "quote"}));
  EXPECT_LT(read, 70);
}

}  // namespace
}  // namespace dikkat
