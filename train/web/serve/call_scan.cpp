#include "train/web/serve/call_scan.h"

#include <algorithm>

namespace dikkat::serve {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_open(char c) { return c == '{' || c == '['; }
bool is_close(char c) { return c == '}' || c == ']'; }

}  // namespace

CallScan::Progress CallScan::scan(std::string_view text) {
  while (at_ < text.size() && state_ != State::complete && state_ != State::bad) {
    state_ = after(text);
    ++at_;
  }
  return state_ == State::complete ? Progress::complete : state_ == State::bad ? Progress::bad : Progress::more;
}

std::string_view CallScan::arguments(std::string_view text) const {
  if (arguments_begin_ >= text.size()) {
    return {};
  }
  return text.substr(arguments_begin_, std::min(arguments_end_, at_) - arguments_begin_);
}

CallScan::State CallScan::after(std::string_view text) {
  switch (state_) {
    case State::begin: return after_begin(text[at_]);
    case State::key: return after_key(text[at_]);
    case State::key_text: return after_key_text(text);
    case State::value: return after_value(text[at_]);
    case State::value_text: return after_value_text(text);
    case State::inner: return after_inner(text[at_]);
    case State::inner_text: return after_inner_text(text);
    case State::value_end: return after_value_end(text[at_]);
    case State::complete:
    case State::bad: break;
  }
  return state_;
}

CallScan::State CallScan::after_begin(char c) {
  if (c != '{') {
    return State::bad;
  }
  if (has_keys()) {
    return State::key;
  }
  arguments_begin_ = at_;
  depth_ = 1;
  return State::inner;
}

/// Before a key, or between a key and its colon.
CallScan::State CallScan::after_key(char c) {
  switch (c) {
    case '"': return begin_text(State::key_text);
    case ':': return State::value;
    case '}':
    case ']': return State::complete;
    default: return c == ',' || is_space(c) ? State::key : State::bad;
  }
}

CallScan::State CallScan::after_key_text(std::string_view text) {
  if (!ends_text(text)) {
    return State::key_text;
  }
  key_ = said(text);
  const bool is_known = key_ == form_->name_key || key_ == form_->arguments_key || key_ == "type" || key_ == "id";
  return is_known || !form_->begin.empty() ? State::key : State::bad;  // without a mark before it, an object may be an answer
}

/// Before the first byte of a value.
CallScan::State CallScan::after_value(char c) {
  if (is_space(c) || c == ':' || c == ',') {
    return State::value;
  }
  if (is_close(c)) {
    return State::complete;
  }
  if (key_ == form_->name_key && c != '"') {
    return State::bad;
  }
  if (key_ == form_->arguments_key) {
    if (c != '{' && c != '"') {
      return State::bad;
    }
    arguments_begin_ = at_;
    arguments_end_ = std::string_view::npos;
  }
  if (c == '"') {
    return begin_text(State::value_text);
  }
  depth_ = is_open(c) ? 1 : 0;
  return is_open(c) ? State::inner : State::value_end;
}

CallScan::State CallScan::after_value_text(std::string_view text) {
  if (!ends_text(text)) {
    return State::value_text;
  }
  if (key_ == form_->arguments_key) {
    arguments_end_ = at_ + 1;
  }
  if (key_ != form_->name_key) {
    return State::value_end;
  }
  name_ = said(text);
  return std::ranges::find(*names_, name_) == names_->end() ? State::bad : State::value_end;
}

CallScan::State CallScan::after_inner(char c) {
  if (c == '"') {
    return begin_text(State::inner_text);
  }
  depth_ += is_open(c) ? 1 : is_close(c) ? -1 : 0;
  if (depth_ > 0) {
    return State::inner;
  }
  if (!has_keys()) {
    return State::complete;
  }
  if (key_ == form_->arguments_key) {
    arguments_end_ = at_ + 1;
  }
  return State::value_end;
}

CallScan::State CallScan::after_inner_text(std::string_view text) const { return ends_text(text) ? State::inner : State::inner_text; }

/// In a number or a word, or after a value.
CallScan::State CallScan::after_value_end(char c) {
  if (c == ',') {
    return State::key;
  }
  if (is_close(c)) {
    return State::complete;
  }
  return c == '"' || c == ':' || is_open(c) ? State::bad : State::value_end;
}

/// A text begins after byte at_.
CallScan::State CallScan::begin_text(State state) {
  text_begin_ = at_ + 1;
  return state;
}

/// Returns whether byte at_ ends the text that began at text_begin_: a quote after an even number of backslashes.
bool CallScan::ends_text(std::string_view text) const {
  return text[at_] == '"' && (said(text).size() - (said(text).find_last_not_of('\\') + 1)) % 2 == 0;
}

}  // namespace dikkat::serve
