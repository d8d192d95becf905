#pragma once

#include "optim/adamw.h"

namespace dikkat {

/// Muon (Keller Jordan 2024): the update of a hidden matrix is its momentum, made orthogonal (kernels/muon.h has the formulas). Each part
/// of a matrix that is several (ParameterStore::Entry::row_parts) is made orthogonal by itself. AdamW updates all other parameters.
class Muon : public Optimizer {
 public:
  struct Options {
    double momentum = 0.95;
    AdamW::Options adamw{};  // of the other parameters; weight_decay is for both
  };

  /// Updates all trained parameters. Throws Error when the store has not been laid out.
  Muon(ParameterStore& store, const Options& options) : Muon(store, options, settings_of(store, options.adamw.weight_decay)) {}
  /// Updates only these, which stand in the order of the slab. Their settings hold the weight decay.
  Muon(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters);

  const char* name() const override { return "Muon"; }
  std::vector<StateSlab*> state() override;
  Cost cost() const override;
  bool update(const Update& update, std::span<const Unit> units) override;

 private:
  struct Matrix {
    index begin;  // in the store's slab
    index rows, cols;
    index state_offset;  // in momentum_
    double rate_factor, weight_decay;
  };
  /// The matrix that begins there, or null.
  const Matrix* matrix_at(index begin) const;

  double momentum_factor_;
  StateSlab momentum_;
  AdamW others_;
  std::vector<Matrix> matrices_;       // as they lie in the slab
  std::vector<const Matrix*> chosen_;  // of an update
};

}  // namespace dikkat
