#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "autograd/base/parallel.h"

namespace dikkat::bench {

/// Reads the command line and runs a benchmark: the exit code, 1 for a failure, which is told in a line.
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
