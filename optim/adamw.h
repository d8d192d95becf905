#pragma once

#include "autograd/base/pages.h"
#include "autograd/tape/parameters.h"

namespace dikkat {

/// Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101), on parameters of Decay::yes; with weight_decay 0
/// it is Adam (Kingma and Ba, arXiv 1412.6980).
class AdamW {
 public:
  struct Options {
    double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  };

  /// Throws Error when the store has not been allocated, or when there is no memory for the moments.
  AdamW(ParameterStore& store, const Options& options);

  /// One update from the store's gradients times gradient_scale; `step` counts from 1. Leaves the gradients cleared. Whether all weights
  /// and moments are finite afterwards.
  bool step(index step, double learning_rate, double gradient_scale = 1);

  const Options& options() const { return options_; }
  /// The moments, laid out as the store's slab.
  template <class T>
  T* m() {
    return static_cast<T*>(checked(m_, kDType<T>));
  }
  template <class T>
  T* v() {
    return static_cast<T*>(checked(v_, kDType<T>));
  }

 private:
  void* checked(const Pages& pages, DType asked) const;

  ParameterStore& store_;
  Options options_;
  Pages m_, v_;
};

}  // namespace dikkat
