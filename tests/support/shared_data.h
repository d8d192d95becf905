#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace dikkat {

/// Returns the path of a file in the data folder next to the repository: texts of some hundred kilobytes, and GPT-2's tokenizer.
inline std::filesystem::path shared_data(const std::string& name) { return std::filesystem::path(DIKKAT_SHARED_DATA) / name; }

}  // namespace dikkat

/// Skips the test if the file is missing, and fails it if DIKKAT_REQUIRE_DATA=1. scripts/test.sh lists the skipped tests.
#define DIKKAT_NEEDS_SHARED_DATA(name)                                                      \
  if (!std::filesystem::exists(::dikkat::shared_data(name))) {                              \
    const char* required = std::getenv("DIKKAT_REQUIRE_DATA");                              \
    if (required != nullptr && std::string(required) == "1") {                              \
      FAIL() << ::dikkat::shared_data(name) << " is missing, and DIKKAT_REQUIRE_DATA is 1"; \
    }                                                                                       \
    GTEST_SKIP() << "needs ../shared/data/" << (name);                                      \
  }                                                                                         \
  static_assert(true, "to be followed by a semicolon")
