#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// The beginning of a text that may be JSON with conversations or documents, although its file's name does not say so.
enum class JsonBeginning {
  none,
  line,    // a line that is an object
  object,  // an object of several lines
  list,    // an array of objects
};

/// Judges a text by its first bytes. Only an object with the key "messages", "prompt", "completion", "text", "conversations" or
/// `text_field` counts.
JsonBeginning json_beginning(std::string_view text, std::string_view text_field = "text");

/// Returns the note to the user on a file that begins like this and is read as plain text; empty for `none`. `is_named` is false for
/// standard input, which has no name to change. `others` is the number of other files like it.
std::string note_on_json(JsonBeginning beginning, const std::string& name, bool is_named, int others);

}  // namespace dikkat
