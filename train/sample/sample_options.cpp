#include "train/sample/sample_options.h"

#include <cmath>

#include "autograd/base/error.h"

namespace dikkat {

DrawOptions draw_options(const SampleOptions& options) {
  return {.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p, .min_p = options.min_p};
}

void check(const SampleOptions& options) {
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens, ", expected 0 or more");
  require_input(options.num_samples >= 1, "num-samples is ", options.num_samples, ", expected 1 or more");
  check(draw_options(options));
  require_input(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty), "repetition-penalty is ",
                options.repetition_penalty, ", expected more than 0 (1: none)");
  const auto require_finite = [](const char* name, double value) {
    require_input(std::isfinite(value), name, " is ", value, ", expected a finite number (0: none)");
  };
  require_finite("presence-penalty", options.presence_penalty);
  require_finite("frequency-penalty", options.frequency_penalty);
  for (const auto& [token, bias] : options.logit_bias) {
    require_finite("logit-bias", bias);
  }
}

}  // namespace dikkat
