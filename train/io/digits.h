#pragma once

#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// 1234567 as 1,234,567.
inline std::string grouped_digits(index number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<index>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

}  // namespace dikkat
