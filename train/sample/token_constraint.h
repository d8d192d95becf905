#pragma once

#include <span>

#include "train/text/token.h"

namespace dikkat {

/// Restricts the tokens of one sample, for example to those that continue a JSON text. Used on one thread at a time.
class TokenConstraint {
 public:
  TokenConstraint() = default;
  TokenConstraint(const TokenConstraint&) = delete;
  TokenConstraint& operator=(const TokenConstraint&) = delete;
  virtual ~TokenConstraint() = default;

  /// Sets the logits, (V), of tokens that must not come next to -inf. A token that ends the sample is allowed where the text may end.
  virtual void mask(std::span<float> logits) = 0;
  /// Continues with a drawn token, which never ends the sample.
  virtual void accept(Token token) = 0;
  /// Returns whether the text is complete, and nothing can follow.
  virtual bool is_complete() const = 0;
};

}  // namespace dikkat
