#pragma once

#include <cstdint>

#include "autograd/base/index.h"

namespace dikkat::kernels {

/// A teacher's distribution for each row: its likeliest classes, and one bin for all the others, the tail. Let t be its probabilities and q
/// the student's, softmax(logits / temperature), with the tail's q the sum over the classes that are not named. A row's cost becomes
/// (1 - share) * its ordinary cost + share * temperature^2 * -(sum_j t_j log q_j + t_tail log q_tail).
/// The teacher's probabilities must be of the same temperature. (Hinton et al., arXiv 1503.02531.)
struct TeacherTargets {
  index top = 0;                         // number of named classes in a row, below the number of classes; 0 without a teacher
  const std::int32_t* ids = nullptr;     // (rows, top): the named classes, ascending in a row
  const float* probabilities = nullptr;  // (rows, top + 1): theirs, and last the tail's
  double share = 0;                      // in [0, 1]
  double temperature = 1;                // more than 0, at most kMostTemperature
};

/// The highest temperature. Backward recovers e^(logit / temperature) from e^logit, which loses logits that are 87 below the largest.
inline constexpr double kMostTemperature = 10;

}  // namespace dikkat::kernels
