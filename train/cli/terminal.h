#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

// Lines that fit the terminal, if standard error is one.
namespace dikkat {

/// The width of standard error's terminal. 0 if it is not a terminal: then lines may have any length. Call it for each line, since the size
/// of a window may change.
index terminal_columns();

/// The variable COLUMNS if it is a number from 20 to 10,000; otherwise 0.
index wanted_columns();
/// The width of standard output's terminal, which COLUMNS may override. 0 if it is not a terminal: then a table may have any width.
index output_columns();

/// A part of a line. Less important parts are dropped first.
struct LinePart {
  std::string text;
  int importance;
};

/// Joins the parts with two spaces between them. Drops the least important ones if the line would not fit, and cuts the last one left. If
/// `columns` is 0, the length is not limited.
std::string fitted(std::vector<LinePart> parts, index columns);

/// Wraps the text into lines shorter than `columns`, all but the first indented. It is broken only at `between`; a longer piece gets a line
/// of its own. If `columns` is 0, returns the text unchanged.
std::string wrapped(std::string_view text, index columns, index indent, std::string_view between = " ");

}  // namespace dikkat
