#pragma once

#include "autograd/base/error.h"

namespace dikkat::jinja {

/// A template that cannot be read, or that cannot be rendered with these messages. The message names the line, what was found and what was
/// expected.
class TemplateError : public InputError {
 public:
  using InputError::InputError;
};

/// Thrown where a template calls raise_exception(): its author refuses these messages. The message is the template's sentence.
class TemplateRefusal : public TemplateError {
 public:
  using TemplateError::TemplateError;
};

template <class... Parts>
[[noreturn]] void fail_template(const Parts&... parts) {
  throw TemplateError(concat(parts...));
}

}  // namespace dikkat::jinja
