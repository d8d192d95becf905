#include "train/chat/template/marked_text.h"

#include <algorithm>

#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

/// Returns the first part that ends after byte `at`.
auto part_at(auto& parts, std::size_t at) {
  return std::upper_bound(parts.begin(), parts.end(), at, [](std::size_t byte, const TextPart& part) { return byte < part.end; });
}

}  // namespace

MarkedText::MarkedText(std::string_view bytes, Origin origin) { append(bytes, {.origin = origin}); }

MarkedText MarkedText::between(std::size_t first, std::size_t last) const {
  MarkedText text;
  text.append(*this, first, last);
  return text;
}

void MarkedText::append(const MarkedText& text, std::size_t first, std::size_t last) {
  const std::string_view bytes = text.bytes_;
  for (auto part = part_at(text.parts_, first); first < last; ++part) {
    const std::size_t end = std::min(part->end, last);
    append(bytes.substr(first, end - first), *part);
    first = end;
  }
}

void MarkedText::append(std::string_view bytes, TextPart marks) {
  if (bytes.empty()) {
    return;
  }
  if (bytes.size() > kMostBytes - bytes_.size()) {
    fail_template("makes a text of more than ", kMostBytes, " bytes");
  }
  bytes_ += bytes;
  marks.end = bytes_.size();
  if (!parts_.empty() && parts_.back().origin == marks.origin && parts_.back().generated == marks.generated) {
    parts_.back().end = marks.end;
  } else {
    parts_.push_back(marks);
  }
}

TextPart MarkedText::marks_at(std::size_t at) const { return *part_at(parts_, at); }

void MarkedText::mark_generated(std::size_t first) {
  const MarkedText whole = std::move(*this);
  *this = whole.between(0, first);
  std::size_t begin = first;
  for (auto part = part_at(whole.parts_, first); begin < whole.size(); ++part) {
    append(std::string_view(whole.bytes_).substr(begin, part->end - begin), {0, part->origin, true});
    begin = part->end;
  }
}

}  // namespace dikkat::jinja
