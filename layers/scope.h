#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/simd/philox.h"
#include "autograd/tape/parameters.h"

namespace dikkat {

struct LoraConfig;

/// A place in a model, such as "h.0.attn". A layer is constructed with a scope and adds its parameters to it, under the scope's path.
class Scope {
 public:
  /// With `lora`, linear layers have the adapters that it describes; it must live while the model is made.
  explicit Scope(ParameterStore& store, const LoraConfig* lora = nullptr) : store_(&store), lora_(lora) {}

  /// "h.0" / "attn" is "h.0.attn".
  Scope operator/(std::string_view name) const { return {*store_, lora_, join(name)}; }
  Scope operator/(index number) const { return *this / std::to_string(number); }

  /// Does what ParameterStore::add() does, with this scope's path before the name.
  Parameter param(std::string_view name, Shape shape, Init init, Decay decay, Role role, std::vector<index> row_parts = {}) const {
    return store_->add(join(name), shape, init, decay, role, std::move(row_parts));
  }
  /// Returns a parameter that is not trained, such as a running mean that the layer computes itself. It is saved with the others, and has
  /// neither a gradient nor an optimizer's state.
  Parameter buffer(std::string_view name, Shape shape, Init init) const {
    const Parameter made = param(name, shape, init, Decay::no, Role::vector);
    store_->freeze(join(name));
    return made;
  }
  /// Identifies the random numbers that are drawn here.
  std::uint64_t site() const { return hash_of(path_); }
  const std::string& path() const { return path_; }
  /// Returns the adapters of linear layers; null: none.
  const LoraConfig* lora() const { return lora_; }

 private:
  Scope(ParameterStore& store, const LoraConfig* lora, std::string path) : store_(&store), lora_(lora), path_(std::move(path)) {}
  std::string join(std::string_view name) const { return path_.empty() ? std::string(name) : path_ + '.' + std::string(name); }

  ParameterStore* store_;
  const LoraConfig* lora_;
  std::string path_;
};

}  // namespace dikkat
