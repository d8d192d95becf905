#pragma once

#include <string>
#include <string_view>

#include "autograd/base/error.h"

namespace dikkat::schema {

/// Collects problems, one line for each, so that a user can fix a file in one go.
class Problems {
 public:
  void add(std::string_view problem) {
    if (++count_ <= kMost) {
      append_to(text_, concat(text_.empty() ? "" : "\n", problem));
    }
  }
  /// Adds a problem unless it is empty.
  void add_if_any(std::string_view problem) {
    if (!problem.empty()) {
      add(problem);
    }
  }
  void throw_if_any() const {
    if (count_ > kMost) {
      fail_input(text_, "\nand ", count_ - kMost, " more");
    }
    require_input(count_ == 0, text_);
  }

 private:
  static constexpr int kMost = 10;

  std::string text_;
  int count_ = 0;
};

}  // namespace dikkat::schema
