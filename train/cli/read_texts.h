#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

/// A text of a file, with its place: "FILE: line 7".
struct PlacedText {
  std::string text{}, place{};
};

/// Reads the texts of a file, or of standard input if `path` is "-": a column of a table (.csv, .tsv), a field of the objects of a JSONL
/// file, or else the lines. `column` is empty unless the user names one: then it is "text". Throws InputError, which names the file and the
/// place, for a file that cannot be read, that is not UTF-8, or without texts, and for a column that is missing.
std::vector<PlacedText> read_texts(const std::string& path, const std::string& column);

}  // namespace dikkat
