#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"
#include "train/text/chat/example_findings.h"

// The keys of examples and messages. Each is used by its reader, refused by name, or counted for a note.
namespace dikkat {

/// Thrown for an example or a message that cannot be read. Its text begins with the path, as "messages[2].tool_calls" in an example or a
/// request.
class BadExample : public InputError {
 public:
  BadExample(std::string path, const std::string& problem) : InputError(path + ' ' + problem), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Whether a value asks for nothing: null, false, 0, "", [], {}. Tables of Hugging Face fill missing columns with null.
bool is_nothing(const nlohmann::json& value);

/// The value of a key; nullptr if it is missing or null.
const nlohmann::json* find_value(const nlohmann::json& object, std::string_view key);

/// Checks all keys of an object but those that the caller uses. A key that would change what is learnt, and that is not supported, throws
/// BadExample unless its value is nothing. The others are counted in `found`.
void check_keys(const nlohmann::json& object, KeyPlace place, std::span<const std::string_view> used, const std::string& path,
                ExampleFindings& found);

/// What the keys in `names` (as "weight") say about whether something is to be learnt: 0, 1, true or false; nullopt where none of them is
/// there. Throws BadExample for another value, and for keys that contradict each other.
std::optional<bool> read_marks(const nlohmann::json& object, std::span<const std::string_view> names, const std::string& path);

}  // namespace dikkat
