#pragma once

#include <utility>

#include "train/config/config.h"

namespace dikkat {

/// Computes each derived key that is not set. Only model.vocab_size may remain open, because it follows from the tokenizer.
void resolve(Config& config);

/// A configuration in which each derived key is computed. A Config is one in which they may be open.
class ResolvedConfig {
 public:
  /// Computes the derived keys (resolve()). Does not validate.
  explicit ResolvedConfig(Config config) : config_(std::move(config)) { resolve(config_); }

  const Config& operator*() const { return config_; }
  const Config* operator->() const { return &config_; }
  operator const Config&() const { return config_; }  // NOLINT(google-explicit-constructor): used where open keys would do

  /// Calls f(Config&), and computes the derived keys again.
  template <class F>
  void change(F&& f) {
    f(config_);
    resolve(config_);
  }

 private:
  Config config_;
};

/// Throws InputError unless every value is in its range and the keys fit together.
void validate(const Config& config);

}  // namespace dikkat
