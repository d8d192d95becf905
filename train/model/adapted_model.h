#pragma once

#include <memory>
#include <string>

#include "autograd/base/pages.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// A model whose weights other models share: the base of adapters. It may be packed.
struct SharedBase {
  TrainedModel model;
  std::string hash;  // hash of its weights before they were packed (HashOfBase)
};

/// Loads a base as load_trained_model() does, and computes its hash. Throws InputError if it has adapters itself.
SharedBase load_shared_base(const std::string& source, const ModelOptions& options = {}, PackedType weights = PackedType::f32);

/// A model of adapters over a base that is in memory already. Only the adapters, and the parameters that are trained in full with them,
/// take memory of their own, in f32. Results have the bits of a model with its own memory and separate adapters. Adapters that are added to
/// the weights round differently.
class AdaptedModel {
 public:
  /// Loads the adapters of a run. Keeps references to the base's weights. Throws InputError if `source` is not a run that trained adapters.
  /// Also throws it if the run's base differs from `base` in weights, configuration or tokenizer.
  AdaptedModel(const std::string& source, const SharedBase& base);

  const ModelOrigin& origin() const { return origin_; }
  const Gpt& gpt() const { return model_->gpt(); }
  /// Returns the bytes of its own memory.
  std::size_t bytes() const { return memory_.size(); }

 private:
  ModelOrigin origin_;
  std::unique_ptr<LanguageModel> model_;  // its store has no memory: its parameters are in `memory_` and in the base's store
  Pages memory_;
};

}  // namespace dikkat
