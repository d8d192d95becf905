#include "optim/muon.h"

#include <algorithm>
#include <atomic>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/base/scratch.h"
#include "autograd/kernels/muon.h"

namespace dikkat {
namespace {

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
      momentum_factor_(options.momentum),
      momentum_(slab_of(chosen(parameters, true), "momentum", "momentum")),
      others_(store, options.adamw, chosen(parameters, false)) {
  std::size_t part = 0;
  for (const ParameterSettings& settings : chosen(parameters, true)) {
    const ParameterStore::Entry& entry = *settings.parameter;
    const index cols = entry.shape()[1];
    index offset = 0;
    for (const index rows : entry.row_parts.empty() ? std::vector{entry.shape()[0]} : entry.row_parts) {
      const index begin = entry.offset + offset;
      matrices_.push_back({begin, rows, cols, momentum_.parts[part].offset + offset, settings.rate_factor, settings.weight_decay});
      units_.push_back({.begin = begin, .end = begin + rows * cols, .whole = true, .flops = kernels::muon_flops(rows, cols)});
      offset += rows * cols;
    }
    ++part;
  }
  units_.insert(units_.end(), others_.units().begin(), others_.units().end());
  chosen_.reserve(matrices_.size());
}

std::vector<StateSlab*> Muon::state() {
  std::vector<StateSlab*> all{&momentum_};
  for (StateSlab* slab : others_.state()) {
    all.push_back(slab);
  }
  return all;
}

Cost Muon::cost() const {
  Cost cost = others_.cost();
  for (const Matrix& matrix : matrices_) {
    cost.flops += kernels::muon_flops(matrix.rows, matrix.cols);
  }
  cost.bytes += 5 * static_cast<double>(momentum_.bytes());  // weights and momentum read and written, gradients read
  return cost;
}

const Muon::Matrix* Muon::matrix_at(index begin) const {
  const auto at = std::lower_bound(matrices_.begin(), matrices_.end(), begin, [](const Matrix& m, index b) { return m.begin < b; });
  return at != matrices_.end() && at->begin == begin ? &*at : nullptr;
}

bool Muon::update(const Update& u, std::span<const Unit> units) {
  chosen_.clear();
  index workspace = 0;
  for (const Unit& unit : units) {
    if (const Matrix* matrix = unit.whole ? matrix_at(unit.begin) : nullptr) {
      chosen_.push_back(matrix);
      workspace = std::max(workspace, kernels::muon_workspace(matrix->rows, matrix->cols));
    }
  }
  // The largest first, so that threads end at about the same time.
  std::sort(chosen_.begin(), chosen_.end(), [](const Matrix* a, const Matrix* b) {
    return std::pair(-kernels::muon_flops(a->rows, a->cols), a->begin) < std::pair(-kernels::muon_flops(b->rows, b->cols), b->begin);
  });
  std::atomic<bool> finite = true;
  for_float(store_.dtype(), "muon", [&](auto zero) {
    using T = decltype(zero);
    auto update_matrix = [&](index i) {
      const Scratch<T> memory(workspace);
      const Matrix& matrix = *chosen_[static_cast<std::size_t>(i)];
      const bool is_finite = kernels::muon<T>({.rows = matrix.rows,
                                               .cols = matrix.cols,
                                               .weight = store_.weights<T>() + matrix.begin,
                                               .gradient = store_.gradients<T>() + matrix.begin,
                                               .momentum = momentum_.at<T>(matrix.state_offset),
                                               .learning_rate = u.learning_rate * matrix.rate_factor,
                                               .beta = momentum_factor_,
                                               .weight_decay = matrix.weight_decay,
                                               .gradient_scale = u.gradient_scale,
                                               .workspace = memory});
      if (!is_finite) {
        finite.store(false, std::memory_order_relaxed);
      }
    };
    // Many matrices: one for each thread. Few: all threads for each. The bits are the same.
    const auto count = static_cast<index>(chosen_.size());
    if (count >= 2 * thread_count()) {
      const Work work{static_cast<double>(workspace) * static_cast<double>(count)};  // a lower bound: more than enough to use all threads
      auto on_thread = [&] {
        if (DryRun::active()) {  // to count what the products inside lease
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
  return others_.update(u, units) && finite;
}

}  // namespace dikkat
