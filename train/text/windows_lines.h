#pragma once

#include <string>
#include <string_view>

#include "autograd/base/error.h"

// Line breaks of Windows within texts that are learnt. They are kept, for texts and for conversations alike, and a note reports them.
namespace dikkat {

inline bool has_windows_lines(std::string_view text) { return text.find("\r\n") != std::string_view::npos; }

/// `what` has them: "a.txt", "3 messages or texts".
inline std::string note_on_windows_lines(const std::string& what, bool is_one) {
  return concat(
      what, is_one ? " has" : " have",
      R"( line breaks of Windows (\r\n). They are kept, so the model learns \r too; if that is not wanted, remove it with dos2unix, )"
      R"(or in JSON with sed 's/\\r\\n/\\n/g')");
}

}  // namespace dikkat
