#pragma once

#include <string>
#include <string_view>

namespace dikkat {

/// How a text begins that may be JSON with conversations or documents, which the name of its file hides.
enum class JsonBeginning {
  none,
  line,    // a line that is an object
  object,  // an object of several lines
  list,    // an array of objects
};

/// Judges by the first bytes. An object counts that has "messages", "prompt", "completion", "text", "conversations" or `text_field`.
JsonBeginning json_beginning(std::string_view text, std::string_view text_field = "text");

/// What to tell the user of a file that is read as plain text and begins so; empty for none. `others` is the number of other files like it.
std::string note_on_json(JsonBeginning beginning, const std::string& name, bool is_named, int others);

}  // namespace dikkat
