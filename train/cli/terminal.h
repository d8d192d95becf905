#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

// Lines that fit the terminal, if standard error is one.
namespace dikkat {

/// The width of standard error's terminal, or 0 if it is none: then lines may have any length. Call it for each line, since a window may
/// change its size.
index terminal_columns();

/// The variable COLUMNS, if it is a number from 20 on; otherwise 0.
index wanted_columns();
/// The width of standard output's terminal, which COLUMNS may set; 0 if it is none: then a table may have any width.
index output_columns();

/// A part of a line. Less important parts are dropped first.
struct LinePart {
  std::string text;
  int importance;
};

/// Joins the parts with two spaces between them, without the least important ones if the line would not fit. A single part is cut. There is
/// no limit if `columns` is 0.
std::string fitted(std::vector<LinePart> parts, index columns);

/// The text in lines shorter than `columns`, all but the first indented. It is broken only at `between`; a longer piece has a line of its
/// own. If `columns` is 0, returns the text as it is.
std::string wrapped(std::string_view text, index columns, index indent, std::string_view between = " ");

}  // namespace dikkat
