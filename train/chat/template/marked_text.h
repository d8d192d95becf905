#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat::jinja {

/// The origin of a part of a rendered text: the template, or an input by the id that the caller chose.
using Origin = int;
inline constexpr Origin kFromTemplate = 0;

/// A part of a text. It begins where the part before it ends.
struct TextPart {
  std::size_t end = 0;            // in bytes
  Origin origin = kFromTemplate;  // who wrote it
  bool generated = false;         // whether it was printed between {% generation %} and {% endgeneration %}

  bool operator==(const TextPart&) const = default;
};

/// A text in UTF-8 whose parts know their origin. Whatever a template does with a text (slices, joins, replacements), its characters keep
/// their marks. That is how the text of a message never becomes a special token, and how answers are found in a rendered conversation.
class MarkedText {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  MarkedText() = default;
  explicit MarkedText(std::string_view bytes, Origin origin = kFromTemplate);

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  /// Returns the parts. None is empty, and no two neighbors have the same marks.
  std::span<const TextPart> parts() const { return parts_; }

  /// Returns the bytes from `first` to `last`, which is not included.
  MarkedText between(std::size_t first, std::size_t last) const;
  void append(const MarkedText& text) { append(text, 0, text.size()); }
  /// Appends the bytes of `text` from `first` to `last`, which is not included.
  void append(const MarkedText& text, std::size_t first, std::size_t last);
  /// Appends bytes with these marks; `marks.end` is ignored. Throws TemplateError where the text becomes longer than kMostBytes.
  void append(std::string_view bytes, TextPart marks);
  /// Returns the marks of the byte at `at` < size().
  TextPart marks_at(std::size_t at) const;
  /// Marks all bytes starting at `first` as generated.
  void mark_generated(std::size_t first);

 private:
  std::string bytes_;
  std::vector<TextPart> parts_;
};

}  // namespace dikkat::jinja
