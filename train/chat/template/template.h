#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "train/chat/template/marked_text.h"
#include "train/chat/template/template_error.h"
#include "train/chat/template/value.h"
#include "train/system/calendar_date.h"

namespace dikkat::jinja {

/// A template in the part of the Jinja language that chat templates use (docs/design/chat.md lists it). It has the settings of Hugging
/// Face's transformers: trim_blocks, lstrip_blocks, and tojson as Python's json.dumps(). Immutable: threads may share a template.
class Template {
 public:
  /// Parses a template. Throws TemplateError, which names the line, for source that is not Jinja or not supported.
  explicit Template(std::string_view source);
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// Returns the text that the template prints with these variables. The text depends on `date`, not on the time of the call. Throws
  /// TemplateError, which names the line; and TemplateRefusal where the template calls raise_exception().
  MarkedText render(const DictValue& variables, const CalendarDate& date) const;

  const std::string& source() const { return source_; }

 private:
  struct Tree;
  std::string source_;
  std::unique_ptr<const Tree> tree_;
};

}  // namespace dikkat::jinja
