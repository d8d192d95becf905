// This check is compiled for any processor of its kind, and runs before the initializers of static variables, which may need a newer
// processor.
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <unistd.h>

#include "autograd/base/processor.h"

namespace dikkat {
namespace {

[[gnu::constructor(101)]] void check_processor() {
  char text[256];
  if (processor_lacks(text, sizeof text)) {
    constexpr int kFailure = 1;
    for (const char* part : {"dikkat: ", static_cast<const char*>(text), "\n"}) {
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, part, std::strlen(part));
    }
    ::_exit(kFailure);
  }
}

}  // namespace
}  // namespace dikkat
