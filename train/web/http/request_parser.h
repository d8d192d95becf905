#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dikkat {

/// Parses one HTTP/1.x request from bytes that arrive in any pieces. Only this class uses the parsing library, Boost.Beast.
class RequestParser {
 public:
  /// The state of reading: less than the head, the head, or all of the request; or it is refused.
  enum class State { begun, has_head, whole, refused };

  /// `largest_head` is the most bytes of the request line and the headers together.
  explicit RequestParser(std::size_t largest_head);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Reads the front of `bytes`, and removes the bytes that it has read. Stops when the head is complete, so that the caller can refuse the
  /// request before its body is read; the next call continues with the body.
  State read(std::string& bytes);
  /// Returns the status to refuse the request with: 400 (malformed), 413 (body too large), 431 (head too large), or 505 (another version of
  /// HTTP).
  int refusal() const;

  /// Call this and the following functions after the head has been read.
  std::string method() const;
  std::string target() const;
  bool is_http_1_0() const;
  /// Returns the value of a header, whose name is compared without regard to case. If there are several, the first value.
  std::optional<std::string> header(std::string_view name) const;
  /// Returns the number of headers with this name.
  int count(std::string_view name) const;
  /// Returns the length of the body according to the head; nullopt if the head does not contain it.
  std::optional<std::size_t> promised_length() const;

  /// Sets the largest permitted size of the body. Call this before the body is read.
  void limit_body(std::size_t bytes);
  /// Moves out the body of a whole request.
  std::string take_body();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
