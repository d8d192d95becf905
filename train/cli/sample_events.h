#pragma once

#include <functional>

#include <nlohmann/json.hpp>

#include "autograd/base/index.h"

namespace dikkat {

/// What is told while prompts are answered.
struct AnswerEvents {
  std::function<void(index tokens)> generated{};  // so many tokens more
  /// The samples of a prompt, as --json has them, once for each prompt. They are not complete if they were interrupted.
  std::function<void(index prompt, nlohmann::ordered_json samples, bool complete)> answered{};
};

}  // namespace dikkat
