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

/// The text of the InputError that f() throws; what else it does says so.
template <class F>
std::string input_error_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("no InputError: ") + error.what();
  }
  return "nothing was thrown";
}

}  // namespace dikkat::testing
