#pragma once

#include <string_view>

#include "autograd/base/names.h"
#include "layers/defaulted.h"

namespace dikkat {

/// The loss of preference tuning. none: a run trains on texts and conversations as usual. auto: a new run chooses by its data: dpo for
/// pairs, kto for judged answers, and none otherwise.
enum class PreferenceMethod { none, auto_, dpo, ipo, orpo, simpo, kto };
template <>
struct Names<PreferenceMethod> {
  static constexpr std::string_view of[] = {"none", "auto", "dpo", "ipo", "orpo", "simpo", "kto"};
};

/// Preference tuning (train/run/objectives/preference_loss.h has the formulas).
struct PreferenceConfig {
  PreferenceMethod method = PreferenceMethod::none;
  Defaulted<double> beta{};    // default: 0.1; 2 for simpo
  Defaulted<double> gamma{};   // simpo only: the margin; default: beta / 2
  double label_smoothing = 0;  // dpo only: the share of pairs that are assumed to be labeled the wrong way round
  double good_weight = 1;      // kto only
  double bad_weight = 1;       // kto only
  double sft_share = 0;        // the share of the ordinary loss of chosen or good answers

  /// Returns whether a run trains on preferences. `auto` is settled before a run begins.
  bool is_on() const { return method != PreferenceMethod::none; }
  /// Returns whether the loss compares with a reference model.
  bool has_reference() const {
    return method == PreferenceMethod::dpo || method == PreferenceMethod::ipo || method == PreferenceMethod::kto;
  }

  /// Returns the share of the ordinary loss that is added. The loss of orpo includes that part itself.
  double ordinary_share() const { return method == PreferenceMethod::orpo ? 0 : sft_share; }

  bool operator==(const PreferenceConfig&) const = default;
};

}  // namespace dikkat
