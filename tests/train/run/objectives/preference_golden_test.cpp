// Compares twenty steps of each method of preference tuning with plain PyTorch's float64 results (tests/golden/make_preference_fixture.py).

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "optim/adamw.h"
#include "tests/golden/json_fixture.h"
#include "train/config/resolve.h"
#include "train/run/objectives/preference_model.h"

namespace dikkat {
namespace {

using Json = nlohmann::json;

const Json& fixture() {
  static const Json all = testing::json_fixture("preference.json");
  return all;
}

/// Gives a laid-out model PyTorch's first weights.
void load_first_weights(ParameterStore& store) {
  for (ParameterStore::Entry* entry : store.entries()) {
    if (entry->path.ends_with(".lora_b")) {
      std::fill_n(static_cast<float*>(entry->record.data), entry->size(), 0.0F);
    } else {
      testing::load_golden(*entry, fixture()[entry->role == Role::adapter ? "adapters" : "weights"]);
    }
  }
}

/// All sequences, each in its own row.
Batch golden_batch(bool judged) {
  const Json& sequences = fixture()[judged ? "judged" : "pairs"];
  index cols = 0;
  for (const Json& one : sequences) {
    cols = std::max<index>(cols, std::ssize(one["tokens"]) - 1);
  }
  Batch batch;
  batch.reshape(std::ssize(sequences), {.cols = cols, .packed = true});
  for (index row = 0; row < batch.rows; ++row) {
    const auto tokens = sequences[static_cast<std::size_t>(row)]["tokens"].get<std::vector<Token>>();
    const index answer = sequences[static_cast<std::size_t>(row)]["answer"], length = std::ssize(tokens) - 1;
    const bool good = fixture()["good"][static_cast<std::size_t>(row / 2)];
    for (index i = 0; i < cols; ++i) {
      const auto at = static_cast<std::size_t>(row * cols + i);
      batch.inputs[at] = i < length ? tokens[static_cast<std::size_t>(i)] : 0;
      batch.targets[at] = i < length ? tokens[static_cast<std::size_t>(i) + 1] : 0;
      batch.weights[at] = i < length && i + 1 >= answer ? 1.0F : 0.0F;
      batch.starts[at] = i < length ? 0 : static_cast<std::int32_t>(i);
    }
    const bool first = row % 2 == 0;
    const AnswerRole role = !judged  ? (first ? AnswerRole::chosen : AnswerRole::rejected)
                            : !first ? AnswerRole::mismatched
                            : good   ? AnswerRole::good
                                     : AnswerRole::bad;
    batch.answers.push_back({.number = row, .begin = row * cols, .length = length, .tokens = length + 1 - answer, .role = role});
  }
  batch.units = batch.step_units = batch.rows / 2;
  return batch;
}

std::vector<double> log_probabilities_of(const LanguageModel& model, PreferenceModel& preference, const Batch& batch) {
  Tape tape{Recording::off};
  Pass pass{.tape = tape};
  const auto found = preference.log_probabilities(model.features(pass, batch), batch);
  return {found.begin(), found.end()};
}

class PreferenceGolden : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(PreferenceGolden, TwentyStepsAreThoseOfPyTorch) {
  constexpr double kTolerance = 1e-5;
  const auto [method, mode] = GetParam();
  const Json& c = fixture()["config"];
  const Json& expected = fixture()["results"][method];
  // The method's settings.
  Config config;
  config.preference.method = *value_named<PreferenceMethod>(method);
  const Json& settings = expected["settings"];
  config.preference.beta = settings["beta"].get<double>();
  if (settings.contains("gamma")) {
    config.preference.gamma = settings["gamma"].get<double>();
  }
  config.preference.label_smoothing = settings.value("label_smoothing", 0.0);
  config.preference.good_weight = settings.value("good_weight", 1.0);
  config.preference.bad_weight = settings.value("bad_weight", 1.0);
  config.preference.sft_share = settings.value("sft_share", 0.0);
  resolve(config);
  // The model and its reference.
  LoraConfig lora;
  if (std::string_view(mode) == "adapters") {
    lora.rank = c["rank"];
    lora.alpha = c["alpha"].get<double>();
  }
  LanguageModel model(testing::golden_config(c), c["vocab_size"].get<index>(), with_defaults(lora));
  model.parameters().allocate(1);
  load_first_weights(model.parameters());
  AdamW adamw(model.parameters(), {.beta1 = c["beta1"], .beta2 = c["beta2"], .eps = c["eps"], .weight_decay = 0});
  PreferenceModel preference(model, config.preference);
  Batch batch = golden_batch(config.preference.method == PreferenceMethod::kto);
  const std::vector<double> reference = log_probabilities_of(model, preference, batch);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    batch.answers[i].reference = reference[i];
  }
  // The steps.
  Tape tape;
  for (index step = 1; step <= std::ssize(expected[mode]["losses"]); ++step) {
    Pass pass{.tape = tape};
    PreferenceSums sums;
    tape.backward(preference.loss(pass, batch, sums));
    tape.reset();
    const double loss = expected[mode]["losses"][static_cast<std::size_t>(step - 1)];
    EXPECT_NEAR(sums.loss / sums.units, loss, kTolerance * std::max(1.0, std::abs(loss))) << "step " << step;
    adamw.step(step, c["learning_rate"]);
  }
  const std::vector<double> last = log_probabilities_of(model, preference, batch);
  for (std::size_t i = 0; i < last.size(); ++i) {
    const double wanted = expected[mode]["log_probabilities"][i];
    EXPECT_NEAR(last[i], wanted, kTolerance * std::max(1.0, std::abs(wanted))) << "answer " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, PreferenceGolden,
                         ::testing::Combine(::testing::Values("dpo", "ipo", "orpo", "simpo", "kto"), ::testing::Values("full", "adapters")),
                         [](const auto& info) { return concat(std::get<0>(info.param), '_', std::get<1>(info.param)); });

}  // namespace
}  // namespace dikkat
