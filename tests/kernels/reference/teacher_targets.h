#pragma once

#include <cmath>
#include <vector>

#include "autograd/kernels/loss/cross_entropy.h"
#include "autograd/kernels/loss/teacher_targets.h"

namespace dikkat::kernels::reference {

/// Replaces the losses and dlogits of reference::cross_entropy_forward() and _backward() by those with a teacher, by plain loops in f64.
/// `dlogits` of the problem must not be added to others.
inline void add_teacher(const CrossEntropy<double>& p, const TeacherTargets& teacher) {
  const double temperature = teacher.temperature;
  for (index row = 0; row < p.rows; ++row) {
    const double weight = p.weights != nullptr ? static_cast<double>(p.weights[row]) : 1.0;
    if (weight == 0) {
      continue;
    }
    // The student's distribution at the temperature.
    const double* logits = p.logits + row * p.cols;
    std::vector<double> q(static_cast<std::size_t>(p.cols));
    double sum = 0;
    for (index i = 0; i < p.cols; ++i) {
      sum += q[static_cast<std::size_t>(i)] = std::exp((logits[i] - p.tops[row]) / temperature);
    }
    // The bin of each class: its place among the named ones, or the tail.
    const std::int32_t* ids = teacher.ids + row * teacher.top;
    std::vector<index> bins(static_cast<std::size_t>(p.cols), teacher.top);
    for (index j = 0; j < teacher.top; ++j) {
      bins[static_cast<std::size_t>(ids[j])] = j;
    }
    std::vector<double> of_bin(static_cast<std::size_t>(teacher.top + 1));
    for (std::size_t i = 0; i < q.size(); ++i) {
      q[i] /= sum;
      of_bin[static_cast<std::size_t>(bins[i])] += q[i];
    }
    // The cost, and its derivative: q_v (mass - t_bin / q_bin).
    double cost = 0, mass = 0;
    const float* t = teacher.probabilities + row * (teacher.top + 1);
    for (index j = 0; j <= teacher.top; ++j) {
      const auto own = static_cast<double>(t[j]);
      mass += own;
      cost -= own == 0 ? 0 : own * std::log(of_bin[static_cast<std::size_t>(j)]);
    }
    const double scale = weight / p.normalizer;
    p.losses[row] = (1 - teacher.share) * p.losses[row] + teacher.share * temperature * temperature * scale * cost;
    for (std::size_t i = 0; i < q.size(); ++i) {
      const auto bin = static_cast<std::size_t>(bins[i]);
      double& slope = p.dlogits.data[row * p.cols + static_cast<index>(i)];
      const double of_teacher = q[i] * (mass - static_cast<double>(t[bin]) / of_bin[bin]);
      slope = (1 - teacher.share) * slope + teacher.share * temperature * scale * p.dloss * of_teacher;
    }
  }
}

}  // namespace dikkat::kernels::reference
