#include "train/web/http/request_parser.h"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace dikkat {

namespace http = boost::beast::http;

struct RequestParser::Parts {
  http::request_parser<http::string_body> parser{};
  std::size_t largest_head = 0, head = 0;  // bytes
  int refusal = 0;
};

namespace {

constexpr std::size_t kLastChunk = std::string_view("0\r\n\r\n").size();

boost::beast::string_view view(std::string_view text) { return {text.data(), text.size()}; }

int status_for(const boost::beast::error_code& error) {
  if (error == http::error::header_limit) {
    return 431;
  }
  if (error == http::error::body_limit) {
    return 413;
  }
  return error == http::error::bad_version ? 505 : 400;
}

}  // namespace

RequestParser::RequestParser(std::size_t largest_head) : parts_(std::make_unique<Parts>()) {
  parts_->largest_head = largest_head;
  parts_->parser.header_limit(
      static_cast<std::uint32_t>(largest_head));  // the library counts from the last line that it has read; read() counts all bytes
  parts_->parser.body_limit(
      std::numeric_limits<std::uint64_t>::max());  // no limit until limit_body(), because the caller checks the promised length itself
}
RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::read(std::string& bytes) {
  // Parse either the head or the body.
  auto& parser = parts_->parser;
  const bool had_head = parser.is_header_done();
  parser.eager(had_head);
  if (had_head && parser.chunked() && !parser.is_done() && bytes.size() < kLastChunk) {
    return State::has_head;  // Boost 1.74 asserts that the final chunk does not arrive in smaller pieces
  }
  while (!bytes.empty() && !parser.is_done() && (had_head || !parser.is_header_done())) {
    boost::beast::error_code error;
    std::size_t count = 0;
    try {
      count = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    } catch (const std::length_error&) {  // a header that is longer than the library can store, about 64 KiB
      error = http::error::header_limit;
    }
    bytes.erase(0, count);
    parts_->head += had_head ? 0 : count;
    if (error == http::error::need_more) {
      break;
    }
    if (error) {
      parts_->refusal = status_for(error);
      return State::refused;
    }
  }
  // Check the size of the head, and report how far the request has come.
  if (parts_->head + (parser.is_header_done() ? 0 : bytes.size()) > parts_->largest_head) {
    parts_->refusal = 431;
    return State::refused;
  }
  if (had_head && parser.is_done()) {
    return State::whole;
  }
  return parser.is_header_done() ? State::has_head : State::begun;
}

int RequestParser::refusal() const { return parts_->refusal; }

std::string RequestParser::method() const { return std::string(parts_->parser.get().method_string()); }
std::string RequestParser::target() const { return std::string(parts_->parser.get().target()); }
bool RequestParser::is_http_1_0() const { return parts_->parser.get().version() < 11; }

std::optional<std::string> RequestParser::header(std::string_view name) const {
  const auto& fields = parts_->parser.get();
  const auto found = fields.find(view(name));
  return found == fields.end() ? std::nullopt : std::optional(std::string(found->value()));
}

int RequestParser::count(std::string_view name) const { return static_cast<int>(parts_->parser.get().count(view(name))); }

std::optional<std::size_t> RequestParser::promised_length() const {
  const auto length = parts_->parser.content_length();
  return length ? std::optional(static_cast<std::size_t>(*length)) : std::nullopt;
}

void RequestParser::limit_body(std::size_t bytes) { parts_->parser.body_limit(bytes); }

std::string RequestParser::take_body() { return std::move(parts_->parser.get().body()); }

}  // namespace dikkat
