#pragma once

#include <string>
#include <vector>

namespace dikkat {

/// A text of a file, with its place: "FILE: line 7".
struct PlacedText {
  std::string text{}, place{};
};

/// The column of a table, or the field of JSON objects, that has the texts.
struct TextColumn {
  std::string name = "text";
  const char* option = "";  // the option that names another one, for errors
  bool is_strict = false;   // whether the user has named it: then objects may not have a "text" in its place, and lines are refused
};

/// Reads the texts of one file, or of standard input if `path` is "-": a column of a table (.csv, .tsv), a field of the objects of JSONL or
/// JSON, or else the lines. Standard input has no name, so a table there is read as lines. Throws InputError, which names the file and the
/// place, for several files, and for a file that cannot be read, that is not UTF-8, or without texts. Throws it also for a blank text or
/// row, for a column that is missing, and for JSON without texts unless it ends in .txt.
std::vector<PlacedText> read_texts(const std::string& path, const TextColumn& column);

}  // namespace dikkat
