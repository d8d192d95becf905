#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dikkat {

/// Selects the rows of a table to draw, so that its curves look as if all rows were drawn. Divides the table into `buckets` pieces of equal
/// length. Selects the first row of each piece. For each column, also selects the rows with the lowest value, the highest value and the
/// first NaN, where the curve has a gap. Returns the indices of the rows, ascending; all rows if they are few.
std::vector<std::size_t> rows_to_draw(std::span<const std::vector<double>> columns, std::size_t buckets);

}  // namespace dikkat
