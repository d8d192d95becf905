#pragma once

#include <string>
#include <utility>

#include "autograd/base/error.h"

namespace dikkat::serve {

/// A refusal of a request, in the protocol's terms.
class ApiError : public Error {
 public:
  /// `param` is the wrong field, and `code` a word for programs. Both may be empty.
  ApiError(int status, const std::string& what, std::string param = {}, std::string code = {})
      : Error(what), status_(status), param_(std::move(param)), code_(std::move(code)) {}

  int status() const { return status_; }
  const std::string& param() const { return param_; }
  const std::string& code() const { return code_; }

 private:
  int status_;
  std::string param_, code_;
};

}  // namespace dikkat::serve
