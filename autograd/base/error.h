#pragma once

#include <cerrno>
#include <charconv>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace dikkat {

/// A failure. The message reports what was found, what was expected and, where it helps, what to do. The program exits with code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input: a file, a key or an argument that cannot be used, and that the user can correct. The program exits with code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

inline void append_to(std::string& out, std::string_view text) { out += text; }
inline void append_to(std::string& out, char c) { out += c; }
template <std::same_as<bool> B>
void append_to(std::string& out, B value) {
  out += value ? "true" : "false";
}
/// Appends a number in the shortest form that reads back to the same value.
template <class N>
  requires((std::integral<N> || std::floating_point<N>) && !std::same_as<N, bool> && !std::same_as<N, char>)
void append_to(std::string& out, N value) {
  char buffer[64];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

/// Types that can be part of a message.
template <class X>
concept Printable = requires(std::string& out, const X& value) { append_to(out, value); };

/// Returns the parts as one string. For a type of your own, declare `append_to(std::string&, const X&)` next to it.
template <Printable... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append_to(text, parts), ...);
  return text;
}

/// Returns the system's text for a value of errno.
inline std::string describe_errno(int error) { return std::generic_category().message(error); }

/// Stands for the text of errno in a message. errno is read when the message is made, so `require(::fsync(file) == 0, "...: ", errno_text)`
/// reports the error of that call. describe_errno(errno) as an argument might be evaluated before the call.
struct ErrnoText {};
inline constexpr ErrnoText errno_text;
inline void append_to(std::string& out, ErrnoText) { out += describe_errno(errno); }

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(concat(parts...));
}

template <class... Parts>
[[noreturn]] void fail_input(const Parts&... parts) {
  throw InputError(concat(parts...));
}

/// Throws Error with the text of `parts` unless `ok`.
template <class... Parts>
constexpr void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]] {
    fail(parts...);
  }
}

/// Throws InputError with the text of `parts` unless `ok`.
template <class... Parts>
constexpr void require_input(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]] {
    fail_input(parts...);
  }
}

}  // namespace dikkat
