#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat {

/// The place of a key: a line of JSONL, one of its messages, or a part of a message's content.
enum class KeyPlace { line, message, part };

/// The findings of a reader of examples, which are reported to the user once.
struct ExampleFindings {
  std::set<std::string> tables{};                              // notes on the columns of tables
  std::map<std::pair<KeyPlace, std::string>, index> unused{};  // keys without an effect, and how often each occurs
  index context_only = 0;                                      // messages that their own "weight", "train" or "loss" exempts from the loss
  index learned_anyway = 0;                                    // user or system messages that are scored because of their marks
  index left_out = 0;                                          // examples that their marks exclude from training
  index judged_again = 0;                                      // lines that judge an answer again
  index empty_answers = 0;                                     // messages of the assistant without any text
  index windows_lines = 0;                                     // messages and texts with Windows line breaks

  /// Returns one sentence for each kind of finding.
  std::vector<std::string> notes() const;
  /// Returns '"id" on 441 lines, "name" in 12 messages'; empty if there are none.
  std::string unused_keys() const;
};

}  // namespace dikkat
