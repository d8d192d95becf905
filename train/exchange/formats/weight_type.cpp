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

}  // namespace dikkat
