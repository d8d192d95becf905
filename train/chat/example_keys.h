#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "autograd/base/error.h"
#include "train/chat/example_findings.h"

// The keys of examples and messages. Each key is used by its reader, refused by name, or counted for a note.
namespace dikkat {

/// Thrown for an example or a message that cannot be read. The message begins with the path, such as "messages[2].tool_calls" in an example
/// or a request.
class BadExample : public InputError {
 public:
  BadExample(std::string path, const std::string& problem) : InputError(path + ' ' + problem), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Checks all keys of an object except those in `used`. Throws BadExample for an unsupported key that would change what is learned, unless
/// its value has no effect: null, false, 0, "", [] or {}. Counts the others in `found`.
void check_keys(const nlohmann::ordered_json& object, KeyPlace place, std::span<const std::string_view> used, const std::string& path,
                ExampleFindings& found);

/// Returns whether the keys in `names` (such as "weight") mark something as to be learned; nullopt if there are none. Values are 0, 1, true
/// and false. Throws BadExample for another value, and for keys that contradict each other.
std::optional<bool> read_marks(const nlohmann::ordered_json& object, std::span<const std::string_view> names, const std::string& path);

}  // namespace dikkat
