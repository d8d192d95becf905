#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dikkat {

/// Reads one HTTP/1.x request from bytes that arrive in any pieces. It is the seam to the library that parses.
class RequestParser {
 public:
  /// How far the request has come.
  enum class State { begun, has_head, whole, refused };

  /// `largest_head`: the most bytes that the request line and the headers may have together.
  explicit RequestParser(std::size_t largest_head);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Reads the front of `bytes` and removes what it has read. Stops when the head is complete, so that its caller can refuse the request
  /// before it reads the body; the next call continues with the body.
  State read(std::string& bytes);
  /// The status to refuse the request with: 400 (malformed), 413 (body too large), 431 (head too large), or 505 (another version of HTTP).
  int refusal() const;

  /// These need the head.
  std::string method() const;
  std::string target() const;
  bool is_http_1_0() const;
  /// The value of a header, whatever the case of its name. The first one, if there are several.
  std::optional<std::string> header(std::string_view name) const;
  int count(std::string_view name) const;
  /// The length that the head promises; nullopt if it does not say one.
  std::optional<std::size_t> promised_length() const;

  /// Sets the most bytes of a body, before it is read.
  void limit_body(std::size_t bytes);
  /// The body of a whole request. Leaves it empty.
  std::string take_body();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dikkat
