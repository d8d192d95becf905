#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// Where a key stands: in a line of JSONL, in one of its messages, or in a part of a message's content.
enum class KeyPlace { line, message, part };

/// The findings of a reader of examples. The user sees them once.
struct ExampleFindings {
  std::map<std::pair<KeyPlace, std::string>, index> unused{};  // keys without an effect, and how often each is there
  index context_only = 0;                                      // messages that their own "weight", "train" or "loss" exempts from the loss
  index learnt_anyway = 0;                                     // messages of the user or the system that are learnt because they say so
  index left_out = 0;                                          // examples that are not to be learnt
  index windows_lines = 0;                                     // messages and texts with line breaks of Windows

  /// One sentence for each kind of finding.
  std::vector<std::string> notes() const;
  /// '"id" on 441 lines, "name" in 12 messages'; empty if there are none.
  std::string unused_keys() const;
};

}  // namespace dikkat
