#include "train/sample/text_stream.h"

#include <algorithm>
#include <array>

#include "train/text/utf8.h"

namespace dikkat {
namespace {

/// Returns how many bytes at the end of the text may begin the stop string, without being all of it.
std::size_t begun(std::string_view text, std::string_view stop) {
  for (std::size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.ends_with(stop.substr(0, size))) {
      return size;
    }
  }
  return 0;
}

}  // namespace

std::string text_behind(const Tokenizer& tokenizer, std::optional<Token> before, Token token) {
  if (!before) {
    return tokenizer.decode(std::span(&token, 1));
  }
  const std::array both = {*before, token};
  return tokenizer.decode(both).substr(tokenizer.decode(std::span(both).first(1)).size());
}

TextStream::TextStream(const Tokenizer& tokenizer, std::optional<Token> before, std::vector<std::string> stops)
    : tokenizer_(&tokenizer), stops_(std::move(stops)), last_(before) {
  for (const std::string& stop : stops_) {
    require_input(!stop.empty(), "a stop string is empty, expected one byte or more");
    longest_stop_ = std::max(longest_stop_, stop.size());
  }
}

std::string TextStream::release(std::size_t end) {
  std::string text = text_.substr(released_, end - released_);
  released_ = end;
  return text;
}

std::string TextStream::push(Token token) {
  if (stopped_) {
    return {};
  }
  const std::size_t known = text_.size();
  text_ += text_behind(*tokenizer_, last_, token);
  last_ = token;

  // Find the first complete stop string, and the longest one that may have begun.
  const std::size_t from = known - std::min(known, longest_stop_ - std::min<std::size_t>(longest_stop_, 1));
  std::size_t end = std::string::npos;
  std::size_t held = 0;
  for (const std::string& stop : stops_) {
    end = std::min(end, text_.find(stop, from));
    held = std::max(held, begun(text_, stop));
  }
  if (end != std::string::npos) {
    stopped_ = true;
    text_.resize(end);
    return release(end);
  }
  const std::string_view certain = std::string_view(text_).substr(0, text_.size() - held);
  return release(std::max(released_, certain.size() - static_cast<std::size_t>(utf8::incomplete_tail(certain))));
}

std::string TextStream::finish() { return release(text_.size()); }

}  // namespace dikkat
