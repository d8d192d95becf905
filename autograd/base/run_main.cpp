#include "autograd/base/run_main.h"

#include <cstdio>
#include <exception>
#include <new>

namespace dikkat::detail {

void print_exception() noexcept {
  std::fflush(stdout);  // output printed before the message is seen before it
  try {
    throw;
  } catch (const std::bad_alloc&) {
    std::fputs("out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    std::fputc('\n', stderr);
  } catch (...) {
    std::fputs("an exception without a message\n", stderr);
  }
}

}  // namespace dikkat::detail
