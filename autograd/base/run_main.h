#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/base/parallel.h"

namespace dikkat {

namespace detail {
/// Prints the exception's message to standard error, within a catch block.
void print_exception() noexcept;
}  // namespace detail

/// Calls f(), which returns an exit code or nothing, and returns the code; 0 for nothing. If f throws an exception, prints its message to
/// standard error and returns 1.
template <std::invocable F>
int exit_code_of(F&& f) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      return 0;
    } else {
      return f();
    }
  } catch (...) {
    detail::print_exception();
    return 1;
  }
}

/// Runs the body of main(): calls f(), or f(arguments) with a vector of the arguments after the program's name, as exit_code_of() does.
/// Threads wait as wait_briefly() sets. That starts the program once more, so nothing should come before it:
///
///   int main(int argc, char** argv) { return dikkat::run_main(argc, argv, train); }
template <class F>
int run_main(int argc, char** argv, F&& f) {
  wait_briefly(argv);
  if constexpr (std::invocable<F>) {
    return exit_code_of(f);
  } else {
    return exit_code_of([&] { return f(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc)); });
  }
}

}  // namespace dikkat
