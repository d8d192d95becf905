#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/chat/answer_format.h"
#include "train/system/json_form.h"

namespace dikkat::serve {

/// A call of a tool at the beginning of a text, as far as the text has come.
struct ScannedCall {
  enum class Progress { more, complete, bad };  // bad: it is not a call of one of the tools

  Progress progress = Progress::more;
  std::size_t end = 0;      // bytes of the call, if it is complete
  std::string name{};       // the tool; empty before it was read, and if it is not in an object
  std::string arguments{};  // as JSON; empty before their first byte

  bool operator==(const ScannedCall&) const = default;
};

/// Finds the tool's name, the arguments and the end of a call: of a JSON object with both, or of arguments only, in the form's way. Of
/// JSON, it looks only at the object's own keys and values, and copies the arguments. Whether they are JSON is for its reader to check.
/// `names` are the tools that can be called, and `types` are those of arguments between tags; null: any.
ScannedCall scan_call(std::string_view text, const CallFormat& form, const std::vector<std::string>& names,
                      const ArgumentTypes* types = nullptr);

}  // namespace dikkat::serve
