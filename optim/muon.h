#pragma once

#include <optional>

#include "optim/adamw.h"
#include "optim/newton_schulz.h"

namespace dikkat {

/// Muon (Keller Jordan 2024): the update of a hidden matrix is its momentum, made orthogonal (kernels/optimizer/muon.h has the formulas).
/// If a matrix stacks several (ParameterStore::Entry::row_parts), each of them is made orthogonal separately. AdamW updates all other
/// parameters. Update::momentum, if it is set, replaces Options::momentum.
class Muon : public Optimizer {
 public:
  struct Options {
    double momentum = 0.95;
    MuonCoefficients coefficients = MuonCoefficients::jordan;
    std::optional<index> steps{};   // absent: usual_steps()
    bool bf16_products = false;     // for f32 matrices: NewtonSchulz::bf16
    std::optional<double> beta2{};  // NorMuon's, for the running mean square of rows; absent: Muon, which has none
    AdamW::Options adamw{};         // for the other parameters; weight_decay and cautious_decay are for both
  };

  /// Updates all trained parameters. Throws Error when the store has not been laid out.
  Muon(ParameterStore& store, const Options& options) : Muon(store, options, settings_of(store, options.adamw.weight_decay)) {}
  /// Updates only these parameters, which must be in the order of the slab. Their settings hold the weight decay.
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
    index lines_offset;  // in lines_
    double rate_factor, weight_decay;
  };
  kernels::NewtonSchulz iteration() const;
  bool has_lines() const { return options_.beta2.has_value(); }
  /// Returns the matrix that begins there, or null.
  const Matrix* matrix_at(index begin) const;

  Options options_;
  index steps_;
  StateSlab momentum_;
  StateSlab lines_;  // running squares of NorMuon
  AdamW others_;
  std::vector<Matrix> matrices_;       // in the order of the slab
  std::vector<const Matrix*> chosen_;  // matrices of an update
};

}  // namespace dikkat
