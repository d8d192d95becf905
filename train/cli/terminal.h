#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"

// Lines for the terminal, where standard error is one.
namespace dikkat {

/// The width of standard error's terminal now, or 0 where it is none: lines have any length then. Asked anew for each line, so that a
/// window may change its size.
index terminal_columns();

/// A part of a line, and how much it matters.
struct LinePart {
  std::string text;
  int importance;
};

/// Joins the parts with two blanks between them, leaving out the least important ones until the line fits. A single part is cut.
/// No limit where `columns` is 0.
std::string fitted(std::vector<LinePart> parts, index columns);

/// The text in lines of less than `columns`, all but the first indented. It is broken only where `between` stands. A piece that is longer
/// has a line of its own. As it is where `columns` is 0.
std::string wrapped(std::string_view text, index columns, index indent, std::string_view between = " ");

}  // namespace dikkat
