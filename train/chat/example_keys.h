#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"
#include "autograd/base/index.h"

// The keys of examples and messages. Each is used by its reader, refused by name, or counted for a note.
namespace dikkat {

/// Thrown for an example or a message that cannot be read. Its text begins with the path, as "messages[2].tool_calls" in an example or a request.
class BadExample : public InputError {
 public:
  BadExample(std::string path, const std::string& problem) : InputError(path + ' ' + problem), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Where a key stands: in a line of JSONL, in one of its messages, or in a part of a message's content.
enum class KeyPlace { line, message, part };

/// What a reader of examples found, which the user is told once.
struct ExampleFindings {
  std::map<std::pair<KeyPlace, std::string>, index> unused{};  // keys without an effect, and how often each is there
  index context_only = 0;     // messages that their own "weight", "train" or "loss" exempts from the loss
  index learnt_anyway = 0;    // messages of the user or the system that are learnt because they say so
  index left_out = 0;         // examples that are not to be learnt
  index windows_lines = 0;    // messages and texts with line breaks of Windows

  /// One sentence for each kind of finding.
  std::vector<std::string> notes() const;
  /// '"id" on 441 lines, "name" in 12 messages'; empty if there are none.
  std::string unused_keys() const;
};

/// Whether a value asks for nothing: null, false, 0, "", [], {}. Tables of Hugging Face fill missing columns with null.
bool is_nothing(const nlohmann::json& value);

/// The value of a key; nullptr if it is missing or null.
const nlohmann::json* find_value(const nlohmann::json& object, std::string_view key);

/// Checks all keys of an object but those that the caller uses. A key that would change what is learnt, and that is not supported, throws BadExample unless
/// its value is nothing. The others are counted in `found`.
void check_keys(const nlohmann::json& object, KeyPlace place, std::span<const std::string_view> used, const std::string& path, ExampleFindings& found);

/// What the keys in `names` (as "weight") say about whether something is to be learnt: 0, 1, true or false; nullopt where none of them is there. Throws
/// BadExample for another value, and for keys that contradict each other.
std::optional<bool> read_marks(const nlohmann::json& object, std::span<const std::string_view> names, const std::string& path);

}  // namespace dikkat
