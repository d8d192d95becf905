#pragma once

#include <string>
#include <string_view>

#include "autograd/base/error.h"

// Windows line breaks (\r\n) in training texts. They are kept in texts and in conversations, and a note reports them.
namespace dikkat {

inline bool has_windows_lines(std::string_view text) { return text.find("\r\n") != std::string_view::npos; }

/// Returns a note that `what` has Windows line breaks: "a.txt", "3 messages or texts".
inline std::string note_on_windows_lines(const std::string& what, bool is_one) {
  return concat(what, is_one ? " has" : " have",
                R"( Windows line breaks (\r\n). They are kept, so the model learns \r too; to avoid that, remove it with dos2unix, )"
                R"(or in JSON with sed 's/\\r\\n/\\n/g')");
}

}  // namespace dikkat
