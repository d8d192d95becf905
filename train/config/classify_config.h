#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/names.h"
#include "layers/defaulted.h"

namespace dikkat {

/// The weights of labels in the loss: none are weighted, or each label counts as much as any other, however often it occurs.
enum class LabelWeights { none, balanced };
template <>
struct Names<LabelWeights> {
  static constexpr std::string_view of[] = {"none", "balanced"};
};

/// Learning the labels of texts. The head of such a model has a row for each label (TransformerConfig::classes).
struct ClassifyConfig {
  std::string field;                // the column or key with a text's label; empty: the run does not learn labels
  std::vector<std::string> labels;  // in the order of the head's rows
  Defaulted<bool> several{};        // a text may have several labels, or none; by default, if a text of a new run has a list of labels
  LabelWeights weights = LabelWeights::none;

  bool is_on() const { return !field.empty(); }

  bool operator==(const ClassifyConfig&) const = default;
};

}  // namespace dikkat
