#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/pages.h"
#include "autograd/tape/cost.h"
#include "autograd/tape/parameters.h"
#include "optim/parameter_group.h"

namespace dikkat {

/// One kind of optimizer state, such as AdamW's first moments. It holds one tensor, of the parameter's type, for each parameter that has
/// such state.
struct StateSlab {
  struct Part {
    const ParameterStore::Entry* parameter;
    Shape shape;   // shape of its tensor: mostly the parameter's
    index offset;  // offset of its tensor, in elements; a multiple of 64 bytes
  };

  std::string name;     // short, for checkpoints: "m"
  std::string meaning;  // for people: "first moment"
  DType dtype = DType::f32;
  std::vector<Part> parts{};
  index size = 0;  // elements; those between parts are zero
  Pages memory{};  // mapped by Optimizer::reserve(); zero at first

  std::size_t bytes() const { return static_cast<std::size_t>(size) * size_of(dtype); }
  /// Throws Error when T is not the element type.
  template <class T>
  T* data() const {
    require(dtype == kDType<T>, "optimizer: ", name, " holds ", dtype, ", asked for as ", kDType<T>);
    return reinterpret_cast<T*>(memory.data());
  }
  /// Returns element `offset`; null while no memory is mapped, as in a dry run before reserve().
  template <class T>
  T* at(index offset) const {
    T* first = data<T>();
    return first == nullptr ? nullptr : first + offset;
  }
};

/// Elements [begin, end) of the store's slab, which can be updated without the others.
struct Unit {
  /// A unit that is not whole may be cut at any offset that is a multiple of this.
  static constexpr index kCut = 16;

  index begin = 0, end = 0;
  bool whole = false;  // its update needs all of its gradient, so it cannot be cut
  double flops = 0;    // operations of the matrix products in its update
};

struct Update {
  index step = 1;            // counts from 1; updates that were left out do not count
  double learning_rate = 0;  // rate of the schedule
  double gradient_scale = 1;
  double weight_decay_factor = 1;    // value of its schedule: multiplies the weight decay of each parameter
  std::optional<double> momentum{};  // value of its schedule, for optimizers that have one; absent: the one of their options
};

/// Changes the trained weights of a store by their gradients.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Returns the name, such as "AdamW".
  virtual const char* name() const = 0;
  /// Returns all state that is kept from step to step. Each slab has a different name.
  virtual std::vector<StateSlab*> state() = 0;
  /// Returns the parts of an update: every trained parameter is in exactly one unit.
  const std::vector<Unit>& units() const { return units_; }
  /// Returns the cost of an update of all units.
  virtual Cost cost() const = 0;

  /// Maps the memory of the state without touching it. If it is not called, the first step does this. Throws Error when there is not
  /// enough.
  void reserve();

  /// Updates all units by the store's gradients times gradient_scale, then clears the gradients. Throws Error when the store has no memory
  /// yet; and, before it changes anything, if gradient_scale or the learning rate is not finite (clip_factor()). Also throws Error, which
  /// names the tensor, if a trained weight or the state is not finite afterwards: load a checkpoint then.
  void step(const Update& update);
  void step(index step, double learning_rate, double gradient_scale = 1) {
    this->step({.step = step, .learning_rate = learning_rate, .gradient_scale = gradient_scale});
  }
  /// Updates some of the units, or parts of them (Unit::kCut), so that several processes can share an update. All gradients must have been
  /// written, and they are not cleared. The bits do not depend on how units are cut or on which are updated together. Returns whether the
  /// updated weights and state are finite.
  virtual bool update(const Update& update, std::span<const Unit> units) = 0;

  // These two are for an average of the weights (averaged.h), and do nothing without one.
  /// Starts the average at the weights. Call it when they have their first values.
  virtual void start_average() {}
  /// Exchanges the weights and their average; a second call exchanges them back. Returns whether there is an average.
  virtual bool exchange_average() { return false; }

 protected:
  explicit Optimizer(ParameterStore& store);

  /// A slab with a tensor for each of these parameters, of the parameter's shape or of another one.
  using ShapeOf = Shape (*)(const ParameterStore::Entry&);
  StateSlab slab_of(
      std::span<const ParameterSettings> parameters, std::string name, std::string meaning,
      ShapeOf shape_of = [](const ParameterStore::Entry& entry) { return entry.shape(); }) const;

  ParameterStore& store_;
  std::vector<Unit> units_;

 private:
  bool reserved_ = false;
};

}  // namespace dikkat
