#include "train/run/objectives/objective.h"

namespace dikkat {

void Objective::reserve(Objective& twin) {
  const std::vector<Tape*> own = tapes(), used = twin.tapes();
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i]->reserve(*used[i]);
  }
}

void Objective::freeze() {
  for (Tape* tape : tapes()) {
    tape->freeze();
  }
}

std::size_t Objective::bytes() {
  std::size_t bytes = 0;
  for (const Tape* tape : tapes()) {
    bytes += tape->activation_bytes();
  }
  return bytes;
}

}  // namespace dikkat
