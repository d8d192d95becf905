#pragma once

#include <memory>
#include <string>

#include "autograd/base/pages.h"
#include "train/model/trained_model.h"

namespace dikkat {

/// A model whose weights other models share: the base of adapters. It may be packed.
struct SharedBase {
  TrainedModel model;
  std::string hash;  // of its weights before they were packed, as HashOfBase computes it
};

/// Loads a base as load_trained_model() does, and computes its hash. Throws InputError if it has adapters itself.
SharedBase load_shared_base(const std::string& source, const ModelOptions& options = {}, PackedType weights = PackedType::f32);

/// A model of adapters over a base that is in memory already: only the adapters, and what is
/// trained in full beside them, take memory of their own, in f32. Its results have the
/// bits of a model with memory of its own whose adapters are not added to its weights; a model with added adapters gives other rounding.
class AdaptedModel {
 public:
  /// Loads the adapters of a run. Keeps references to the base's weights. Throws InputError if `source` is not a run that trained adapters,
  /// or if its base has other weights, another configuration or another tokenizer than `base`.
  AdaptedModel(const std::string& source, const SharedBase& base);

  const ModelOrigin& origin() const { return origin_; }
  const Gpt& gpt() const { return model_->gpt(); }
  /// The bytes of the memory of its own.
  std::size_t bytes() const { return memory_.size(); }

 private:
  ModelOrigin origin_;
  std::unique_ptr<LanguageModel> model_;  // its store has no memory: its parameters are in `memory_` and in the base's store
  Pages memory_;
};

}  // namespace dikkat
