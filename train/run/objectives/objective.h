#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "autograd/tape/tape.h"
#include "layers/pass.h"
#include "train/checkpoint/run_directory.h"
#include "train/data/samples/batch.h"
#include "train/data/samples/prefetcher.h"
#include "train/metrics/reports.h"
#include "train/parallel/ranks.h"
#include "train/run/scorer.h"

namespace dikkat {

/// The report of a forward pass.
struct PassReport {
  std::optional<double> loss{};  // this pass's part of the step's loss; without it, the value of the tensor that loss() returns
  std::span<double> sums{};      // Objective::sums() numbers, which are 0 before the pass
};

/// The parts of a run that Objective::prepare() may use.
struct Preparation {
  Ranks& ranks;                          // they call prepare() together, and may share the work
  RunDirectory* directory = nullptr;     // the run's; null on ranks other than the first
  std::function<bool()> stop;            // all ranks ask it together, between batches
  std::function<void(double)> progress;  // is called with the share that is done
};

/// The goal of a run. The trainer only asks for a loss to call backward() on, and adds up the reports of passes.
class Objective {
 public:
  Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;
  virtual ~Objective() = default;

  /// Reads what prepare() has written into the folder of a resumed run. Throws InputError if that is missing or damaged.
  virtual void restore(const std::filesystem::path& /*run_directory*/) {}
  /// Computes what must be known before the first step, unless it is known. Returns false if it was stopped.
  virtual bool prepare(const Preparation&) { return true; }
  /// Returns the name of what prepare() computes, for a progress line.
  virtual std::string_view preparation() const { return "preparing"; }
  /// Returns whether prepare() runs the model forward on all training samples once.
  virtual bool scores_training() const { return false; }
  /// Returns whether the run records a hash of the weights that it starts from (TrainingState::base_hash).
  virtual bool identifies_base() const { return false; }

  /// Returns the batches of the coming steps: those of the corpus, or others that are made of them.
  virtual std::unique_ptr<Batches> batches(std::unique_ptr<Batches> of_corpus) { return of_corpus; }
  /// Runs the model on a batch. Returns a scalar whose gradient is that of the batch's part of the step's loss. The part is the sum over
  /// the batch's targets or units, divided by their number in the step. Call backward() on this tensor only.
  virtual Tensor loss(Pass& pass, const Batch& batch, PassReport& report) = 0;
  /// Returns how many numbers each pass reports with its loss. They are added over the passes of a step, in their order, on all ranks.
  virtual std::size_t sums() const { return 0; }
  /// Writes the results of the added numbers to a step's report.
  virtual void report(std::span<const double> /*sums*/, StepReport&) const {}

  /// Returns the metric by which evaluations are compared: 0 or more, and higher is better. Empty: the validation loss.
  virtual std::string_view decided_by() const { return ""; }
  /// Returns how held-out samples are scored. The scorer keeps references to the model.
  virtual std::unique_ptr<Scorer> scorer() const = 0;

  /// Returns an objective that computes the same, with memory of its own: for dry runs.
  virtual std::unique_ptr<Objective> twin() const = 0;
  /// Maps as much memory as its twin has used.
  void reserve(Objective& twin);
  /// Freezes the tapes (Tape::freeze()). Call it after the largest batch.
  void freeze();
  /// Returns the bytes with which a step compares all of its samples, if its rows are as long as these; 0 if it does not.
  virtual std::size_t comparison_bytes(const RowLengths& /*longest*/) const { return 0; }
  /// Returns the highest number of bytes so far, without those of the pass's tape.
  std::size_t bytes();

 protected:
  /// Returns the tapes that it computes on, except that of the pass.
  virtual std::vector<Tape*> tapes() { return {}; }
};

}  // namespace dikkat
