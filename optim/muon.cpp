#include "optim/muon.h"

#include <algorithm>
#include <atomic>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/optimizer/muon.h"

namespace dikkat {
namespace {

std::vector<index> row_parts(const ParameterStore::Entry& entry) {
  return entry.row_parts.empty() ? std::vector{entry.shape()[0]} : entry.row_parts;
}

/// Returns the number of rows or of columns, whichever is larger, of each part of a matrix.
index lines_of(index rows, index cols) { return std::max(rows, cols); }
Shape lines_of(const ParameterStore::Entry& entry) {
  index lines = 0;
  for (const index rows : row_parts(entry)) {
    lines += lines_of(rows, entry.shape()[1]);
  }
  return {lines};
}

bool is_hidden_matrix(const ParameterSettings& settings) {
  return settings.parameter->role == Role::hidden && settings.parameter->shape().rank() == 2;
}

std::vector<ParameterSettings> chosen(std::span<const ParameterSettings> parameters, bool hidden_matrices) {
  std::vector<ParameterSettings> some;
  std::copy_if(parameters.begin(), parameters.end(), std::back_inserter(some),
               [&](const ParameterSettings& settings) { return is_hidden_matrix(settings) == hidden_matrices; });
  return some;
}

}  // namespace

Muon::Muon(ParameterStore& store, const Options& options, std::span<const ParameterSettings> parameters)
    : Optimizer(store),
      options_(options),
      steps_(options.steps.value_or(usual_steps(options.coefficients))),
      momentum_(slab_of(chosen(parameters, true), "momentum", "momentum")),
      lines_(slab_of(chosen(parameters, true), "lines", "mean squares of rows", lines_of)),
      others_(store, options.adamw, chosen(parameters, false)) {
  const kernels::NewtonSchulz how = iteration();
  std::size_t part = 0;
  for (const ParameterSettings& settings : chosen(parameters, true)) {
    const ParameterStore::Entry& entry = *settings.parameter;
    const index cols = entry.shape()[1];
    index offset = 0, line = 0;
    for (const index rows : row_parts(entry)) {
      const index begin = entry.offset + offset;
      matrices_.push_back({.begin = begin,
                           .rows = rows,
                           .cols = cols,
                           .state_offset = momentum_.parts[part].offset + offset,
                           .lines_offset = lines_.parts[part].offset + line,
                           .rate_factor = settings.rate_factor,
                           .weight_decay = settings.weight_decay});
      units_.push_back({.begin = begin, .end = begin + rows * cols, .whole = true, .flops = kernels::newton_schulz_flops(how, rows, cols)});
      offset += rows * cols;
      line += lines_of(rows, cols);
    }
    ++part;
  }
  units_.insert(units_.end(), others_.units().begin(), others_.units().end());
  chosen_.reserve(matrices_.size());
}

kernels::NewtonSchulz Muon::iteration() const {
  kernels::NewtonSchulz how = newton_schulz(options_.coefficients, steps_);
  how.bf16 = options_.bf16_products;
  return how;
}

std::vector<StateSlab*> Muon::state() {
  std::vector<StateSlab*> all{&momentum_};
  if (has_lines()) {
    all.push_back(&lines_);
  }
  for (StateSlab* slab : others_.state()) {
    all.push_back(slab);
  }
  return all;
}

Cost Muon::cost() const {
  Cost cost = others_.cost();
  for (const Unit& unit : units_) {
    cost.flops += unit.flops;
  }
  cost.bytes += 5 * static_cast<double>(momentum_.bytes());  // weights and momentum read and written, gradients read
  return cost;
}

const Muon::Matrix* Muon::matrix_at(index begin) const {
  const auto at = std::lower_bound(matrices_.begin(), matrices_.end(), begin, [](const Matrix& m, index b) { return m.begin < b; });
  return at != matrices_.end() && at->begin == begin ? &*at : nullptr;
}

bool Muon::update(const Update& u, std::span<const Unit> units) {
  const kernels::NewtonSchulz how = iteration();
  // Collect the matrices among the units, and the workspace of the largest.
  chosen_.clear();
  index workspace = 0;
  for (const Unit& unit : units) {
    if (const Matrix* matrix = unit.whole ? matrix_at(unit.begin) : nullptr) {
      chosen_.push_back(matrix);
      workspace = std::max(workspace, kernels::muon_workspace(matrix->rows, matrix->cols));
    }
  }
  // Sort them, the largest first, so that threads end at about the same time.
  std::sort(chosen_.begin(), chosen_.end(), [&](const Matrix* a, const Matrix* b) {
    const auto rank = [&](const Matrix* m) { return std::pair(-kernels::newton_schulz_flops(how, m->rows, m->cols), m->begin); };
    return rank(a) < rank(b);
  });
  std::atomic<bool> finite = true;
  for_float(store_.dtype(), "muon", [&](auto zero) {
    using T = decltype(zero);
    // Updates a matrix in its thread's scratch memory.
    auto update_matrix = [&](index i) {
      const Scratch<T> memory(workspace);
      const Matrix& matrix = *chosen_[static_cast<std::size_t>(i)];
      const bool is_finite = kernels::muon<T>({.rows = matrix.rows,
                                               .cols = matrix.cols,
                                               .weight = store_.weights<T>() + matrix.begin,
                                               .gradient = store_.gradients<T>() + matrix.begin,
                                               .momentum = momentum_.at<T>(matrix.state_offset),
                                               .line_squares = has_lines() ? lines_.at<T>(matrix.lines_offset) : nullptr,
                                               .learning_rate = u.learning_rate * matrix.rate_factor,
                                               .beta = u.momentum.value_or(options_.momentum),
                                               .line_beta = options_.beta2.value_or(0),
                                               .weight_decay = matrix.weight_decay * u.weight_decay_factor,
                                               .gradient_scale = u.gradient_scale,
                                               .cautious = options_.adamw.cautious_decay,
                                               .newton_schulz = how,
                                               .workspace = memory});
      if (!is_finite) {
        finite.store(false, std::memory_order_relaxed);
      }
    };
    // With many matrices, each thread updates one at a time; with few, all threads work on one. The bits are the same.
    const auto count = static_cast<index>(chosen_.size());
    if (count >= 2 * thread_count()) {
      const Work work{static_cast<double>(workspace) * static_cast<double>(count)};  // a lower bound: more than enough to use all threads
      auto on_thread = [&] {
        if (DryRun::active()) {  // to count the memory that the products inside lease
          update_matrix(0);
        } else {
          const Scratch<T> asked(workspace);
        }
      };
      parallel_for_uneven(count, work, on_thread, update_matrix);
    } else {
      for (index i = 0; i < count; ++i) {
        update_matrix(i);
      }
    }
  });
  // AdamW updates the other parameters.
  return others_.update(u, units) && finite;
}

}  // namespace dikkat
