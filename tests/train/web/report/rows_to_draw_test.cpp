#include "train/web/report/rows_to_draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace dikkat {
namespace {

bool has(const std::vector<std::size_t>& rows, std::size_t row) { return std::binary_search(rows.begin(), rows.end(), row); }

TEST(RowsToDraw, few_rows_are_all_drawn) {
  const std::vector<std::vector<double>> columns = {{1, 2, 3}, {3, 2, 1}};
  EXPECT_EQ(rows_to_draw(columns, 1), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(rows_to_draw({}, 10).empty());
}

TEST(RowsToDraw, keeps_the_extremes_of_each_column_and_the_ends) {
  constexpr std::size_t kRows = 100000;
  std::vector<std::vector<double>> columns(2, std::vector<double>(kRows));
  for (std::size_t row = 0; row < kRows; ++row) {
    columns[0][row] = std::sin(static_cast<double>(row) * 0.01);
    columns[1][row] = 1;
  }
  columns[0][12345] = 100;  // a spike
  columns[1][54321] = -100;
  columns[0][77777] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::size_t> rows = rows_to_draw(columns, 500);
  EXPECT_LE(rows.size(), 500U * 7 + 1);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  for (const std::size_t row : {std::size_t{0}, std::size_t{12345}, std::size_t{54321}, std::size_t{77777}, kRows - 1}) {
    EXPECT_TRUE(has(rows, row)) << row;
  }
}

}  // namespace
}  // namespace dikkat
