#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autograd/base/parallel.h"

namespace dikkat::bench {

/// Parses the command line and runs a benchmark. Returns the exit code; a failure prints one line and gives 1.
template <class Run>
int run_program(CLI::App& app, int argc, char** argv, Run&& run) {
  wait_briefly(argv);
  CLI11_PARSE(app, argc, argv);
  try {
    run();
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", std::filesystem::path(argv[0]).filename().string(), e.what());
    return 1;
  }
}

}  // namespace dikkat::bench
