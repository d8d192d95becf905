#include "train/system/out_of_memory.h"

#include "autograd/base/error.h"

namespace dikkat {

void fail_for_memory(const char* doing, const std::bad_alloc& refused) {
  if (const auto* known = dynamic_cast<const RefusedMemory*>(&refused)) {
    fail(doing, ": no memory for ", known->bytes(), " bytes (", known->bytes() >> 20, " MiB) more");
  }
  fail(doing, ": no memory for the request of a library");
}

}  // namespace dikkat
