#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "layers/pass.h"

namespace dikkat {

/// A layer: an object or a function that maps a tensor, with or without the pass.
template <class L>
concept Layer = std::is_invocable_r_v<Tensor, const L&, Pass&, Tensor> || std::is_invocable_r_v<Tensor, const L&, Tensor>;

/// Calls a layer.
template <Layer L>
Tensor call_layer(const L& layer, Pass& pass, Tensor x) {
  if constexpr (std::is_invocable_r_v<Tensor, const L&, Pass&, Tensor>) {
    return layer(pass, x);
  } else {
    return layer(x);
  }
}

/// Layers one after another. Each is an object with operator()(Pass&, Tensor) or operator()(Tensor), or a function of one tensor:
///
///   Sequential net{Linear(s / "up", 64, 256), Gelu{}, Linear(s / "down", 256, 64)};
///   Tensor y = net(pass, x);
///
/// Members are made from left to right, and may be Sequential themselves. layer<i>() is layer i.
template <Layer... Layers>
class Sequential {
 public:
  explicit Sequential(Layers... layers) : layers_(std::move(layers)...) {}

  Tensor operator()(Pass& pass, Tensor x) const {
    std::apply([&](const Layers&... layer) { ((x = call_layer(layer, pass, x)), ...); }, layers_);
    return x;
  }

  template <std::size_t i>
  const auto& layer() const {
    return std::get<i>(layers_);
  }

 private:
  std::tuple<Layers...> layers_;
};

}  // namespace dikkat
