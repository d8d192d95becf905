#pragma once

#include <exception>
#include <iostream>

namespace dikkat::torture {

/// What main() of these programs is: `run` gives the exit code; what it throws, and how the program is called, are told on stderr.
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
