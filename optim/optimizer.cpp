#include "optim/optimizer.h"

#include <utility>

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

bool Optimizer::step(const Update& u) {
  require(u.step >= 1, "optimizer: step ", u.step, ", expected 1 or more");
  if (!reserved_) {
    reserve();
  }
  store_.complete_gradients();
  const bool finite = update(u, units_);
  store_.clear_gradients();
  return finite;
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
