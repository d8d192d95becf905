#pragma once

#include <cstdint>

namespace dikkat {

/// How the objects of a file are written.
enum class ObjectForm : std::uint8_t {
  none,    // the file is plain text
  lines,   // JSONL: an object on each line
  stream,  // objects one after another, each on one line or more
  array,   // one array of objects
  table,   // CSV: an object in each row
};

}  // namespace dikkat
