#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

// Lines that fit the terminal, if standard error is one.
namespace dikkat {

/// Returns the width of standard error's terminal. 0 if it is not a terminal: then lines may have any length. Call it for each line, since
/// a window may be resized.
index terminal_columns();

/// Returns the variable COLUMNS if it is a number from 20 to 10,000; otherwise 0.
index wanted_columns();
/// Returns the width of standard output's terminal, which COLUMNS may override. 0 if it is not a terminal: then a table may have any width.
index output_columns();

/// A part of a line. Less important parts are dropped first.
struct LinePart {
  std::string text;
  int importance;
};

/// Joins the parts with two spaces between them. Drops the least important ones if the line would not fit, and cuts the last one left. If
/// `columns` is 0, the length is not limited.
std::string fitted(std::vector<LinePart> parts, index columns);

/// Wraps a string into lines shorter than `columns`, all but the first indented. It is broken only at `between`; a longer piece gets a line
/// of its own. If `columns` is 0, returns it unchanged.
std::string wrapped(std::string_view text, index columns, index indent, std::string_view between = " ");

}  // namespace dikkat
