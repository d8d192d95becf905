#pragma once

#include <exception>
#include <iostream>

namespace dikkat::torture {

/// The main() of these programs: returns the exit code of `run`; prints exceptions and the usage on stderr.
template <class Run>
int run_program(const char* usage, Run&& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\nusage: " << usage << '\n';
    return 1;
  }
}

}  // namespace dikkat::torture
