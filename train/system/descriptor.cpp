#include "train/system/descriptor.h"

#include <unistd.h>

namespace dikkat {

Descriptor::~Descriptor() {
  if (value_ >= 0) {
    ::close(value_);
  }
}

}  // namespace dikkat
