#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/base/error.h"

namespace dikkat::testing {

/// Returns the message of the E that f() throws; empty if nothing is thrown. Fails the test for an exception of another type.
template <class E = Error, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an exception of another type was thrown: " << error.what();
  }
  return {};
}

/// Returns whether `message` has `part` in it. A number at either end of `part` must be a whole number there: "7" is not in "17" or "7.5".
inline bool has_part(std::string_view message, std::string_view part) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digit_at = [&](std::size_t at) { return at < message.size() && is_digit(message[at]); };
  for (std::size_t at = message.find(part); at != std::string_view::npos; at = message.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    const bool goes_on_before = digit_at(at - 1) || (at > 1 && message[at - 1] == '.' && digit_at(at - 2));
    const bool goes_on_behind = digit_at(end) || (end < message.size() && message[end] == '.' && digit_at(end + 1));
    if (part.empty() || ((!is_digit(part.front()) || !goes_on_before) && (!is_digit(part.back()) || !goes_on_behind))) {
      return true;
    }
  }
  return false;
}

/// Returns whether a message names every part: a key, a path, a line, a value. An empty message, as when nothing was thrown, names nothing.
/// Tests of messages use it so that the sentence around the parts can change.
inline ::testing::AssertionResult names(std::string_view message, const std::vector<std::string>& parts) {
  if (message.empty()) {
    return ::testing::AssertionFailure() << "there is no message";
  }
  std::string missing;
  for (const std::string& part : parts) {
    if (!has_part(message, part)) {
      missing += concat("\n  it does not name: ", part);
    }
  }
  return missing.empty() ? ::testing::AssertionSuccess() << "the message is: " << message
                         : ::testing::AssertionFailure() << "the message is: " << message << missing;
}

}  // namespace dikkat::testing

namespace dikkat {

/// Returns the message of the InputError that f() throws. The test fails if f() throws nothing or another type.
template <class F>
std::string input_error_of(F&& f) {
  const std::string message = testing::error_of<InputError>(f);
  EXPECT_FALSE(message.empty()) << "no InputError was thrown";
  return message;
}

}  // namespace dikkat
