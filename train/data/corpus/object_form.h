#pragma once

#include <cstdint>

namespace dikkat {

/// How the JSON objects of a file are written.
enum class ObjectForm : std::uint8_t {
  none,    // the file is plain text
  lines,   // JSONL: an object on each line
  stream,  // objects one after another, each on one line or more
  array,   // one array of objects
};

}  // namespace dikkat
