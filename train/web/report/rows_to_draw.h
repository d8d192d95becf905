#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dikkat {

/// Which rows of a table to draw, so that its curves look as if all were drawn: of each of `buckets` pieces of equal length the first row,
/// and for each column the rows with its lowest and its highest value. Ascending; all rows if they are few. A NaN is neither lowest nor
/// highest, and the first row with one in a piece is drawn too: the curve has a gap there.
std::vector<std::size_t> rows_to_draw(std::span<const std::vector<double>> columns, std::size_t buckets);

}  // namespace dikkat
