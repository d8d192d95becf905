#include "optim/optimizer.h"

#include <cmath>
#include <utility>

#include "optim/not_finite.h"

namespace dikkat {

Optimizer::Optimizer(ParameterStore& store) : store_(store) {
  require(store.is_laid_out(), "optimizer: the parameter store has not been laid out, expected lay_out() or allocate() before");
}

void Optimizer::reserve() {
  reserved_ = true;
  for (StateSlab* slab : state()) {
    if (slab->memory.size() < slab->bytes()) {
      slab->memory = Pages(slab->bytes(), concat("the optimizer's state, ", slab->meaning).c_str());
    }
  }
}

void Optimizer::step(const Update& u) {
  require(u.step >= 1, "optimizer: step ", u.step, ", expected 1 or more");
  require(
      std::isfinite(u.gradient_scale) && std::isfinite(u.learning_rate), "optimizer: step ", u.step, " has gradient_scale ",
      u.gradient_scale, " and learning rate ", u.learning_rate,
      ", expected finite numbers. No weight has changed. clip_factor() is NaN if the gradient's norm is not finite: look for the batch, or "
      "lower the learning rate");
  if (!reserved_) {
    reserve();
  }
  store_.complete_gradients();
  if (!update(u, units_)) {
    fail(
        "optimizer: step ", u.step, ": ", first_not_finite(store_, *this).tensor,
        " is not finite after the update, expected finite numbers. Load a checkpoint, and compare gradient_norm() with a limit before each "
        "step, or lower the learning rate");
  }
  store_.clear_gradients();
}

StateSlab Optimizer::slab_of(std::span<const ParameterSettings> parameters, std::string name, std::string meaning, ShapeOf shape_of) const {
  StateSlab slab{.name = std::move(name), .meaning = std::move(meaning), .dtype = store_.dtype()};
  const auto unit = static_cast<index>(64 / size_of(slab.dtype));
  for (const ParameterSettings& settings : parameters) {
    slab.parts.push_back({settings.parameter, shape_of(*settings.parameter), slab.size});
    slab.size += round_up(slab.parts.back().shape.size(), unit);
  }
  return slab;
}

}  // namespace dikkat
