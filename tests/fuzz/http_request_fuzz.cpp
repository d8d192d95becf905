// Fuzzes HTTP requests. The bytes are read or refused, and the outcome does not depend on the pieces in which they arrive.
#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "train/web/http/request_parser.h"

namespace dikkat {
namespace {

constexpr std::size_t kLargestHead = 600, kLargestBody = 300;

struct Outcome {
  RequestParser::State state = RequestParser::State::begun;
  int refusal = 0;
  std::string method{}, target{}, host{}, body{};

  bool operator==(const Outcome&) const = default;
};

/// Reads all of `text`, `step` bytes at a time.
Outcome read_in_steps(std::string_view text, std::size_t step) {
  RequestParser parser(kLargestHead);
  Outcome outcome;
  std::string bytes;
  bool has_head = false;
  for (std::size_t at = 0;
       at < text.size() && outcome.state != RequestParser::State::whole && outcome.state != RequestParser::State::refused; at += step) {
    bytes += text.substr(at, step);
    outcome.state = parser.read(bytes);
    if (outcome.state == RequestParser::State::has_head && !has_head) {
      has_head = true;
      outcome.method = parser.method();
      outcome.target = parser.target();
      outcome.host = parser.header("hOST").value_or("none");
      if (parser.promised_length().value_or(0) > kLargestBody) {
        outcome.refusal = 413;
        return outcome;
      }
      parser.limit_body(kLargestBody);
      outcome.state = parser.read(bytes);
    }
  }
  if (outcome.state == RequestParser::State::refused) {
    outcome.refusal = parser.refusal();
    fuzz::hold(outcome.refusal >= 400 && outcome.refusal < 600, "a refusal has a status");
  } else if (outcome.state == RequestParser::State::whole) {
    outcome.body = parser.take_body();
    fuzz::hold(outcome.body.size() <= kLargestBody, "a body keeps its limit");
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const Outcome whole = read_in_steps(text, std::max<std::size_t>(size, 1));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
    const Outcome in_pieces = read_in_steps(text, step);
    // A malformed request that has no end yet may be refused at once or later. The outcome of a whole one is always the same.
    const bool is_whole = whole.state == RequestParser::State::whole;
    fuzz::hold(is_whole ? in_pieces == whole : in_pieces.state != RequestParser::State::whole, "pieces do not matter");
  }
  return 0;
}

}  // namespace dikkat
