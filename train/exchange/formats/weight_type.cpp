#include "train/exchange/formats/weight_type.h"

#include "autograd/base/error.h"

namespace dikkat {

std::string shape_text(std::span<const index> shape) {
  std::string text = "[";
  for (const index extent : shape) {
    text += concat(text.size() > 1 ? ", " : "", extent);
  }
  return text + "]";
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  std::string text = "\"";
  for (const char c : name.substr(0, kLongest)) {
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return text + (name.size() > kLongest ? "...\"" : "\"");
}

}  // namespace dikkat
