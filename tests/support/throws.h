#pragma once

#include <string>

#include <gtest/gtest.h>

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

namespace dikkat {

/// The text of the InputError that f throws; a test failure where it throws nothing or another type.
template <class F>
std::string input_error_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "no InputError: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no exception";
  return "";
}

}  // namespace dikkat
