#pragma once

#include <string>

#include "autograd/base/error.h"

namespace dikkat::testing {

/// The text of the Error that f() throws; empty if it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace dikkat::testing
