#include "train/run/bad_step.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/run/loss_watch.h"
#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number_or_text(double x) {
  return std::isfinite(x) ? OrderedJson(x) : OrderedJson(std::isnan(x) ? "NaN" : x > 0 ? "inf" : "-inf");
}

/// Returns a JSON object with tokens and their text.
OrderedJson row_of(const Token* tokens, index count, const Tokenizer& tokenizer) {
  const std::span row(tokens, static_cast<std::size_t>(count));
  return {{"text", tokenizer.decode(row)}, {"tokens", std::vector<Token>(row.begin(), row.end())}};
}

OrderedJson rows_of(const Batch& batch, const Tokenizer& tokenizer) {
  OrderedJson rows = OrderedJson::array();
  const index cols = batch.lengths.cols;
  for (index row = 0; row < batch.rows; ++row) {
    const float* weights = batch.weights.data() + row * cols;
    index length = cols;
    while (length > 0 && weights[length - 1] == 0) {
      --length;  // drops padding
    }
    OrderedJson object;
    if (batch.lengths.source_cols > 0) {
      object["source"] =
          row_of(batch.source.data() + row * batch.lengths.source_cols, batch.source_lengths[static_cast<std::size_t>(row)], tokenizer);
    }
    object["inputs"] = row_of(batch.inputs.data() + row * cols, length, tokenizer);
    object["targets"] = row_of(batch.targets.data() + row * cols, length, tokenizer);
    rows.push_back(std::move(object));
  }
  return rows;
}

/// Formats a number. NaN has no sign.
std::string text_of(double value) { return std::isnan(value) ? "NaN" : concat(value); }

}  // namespace

std::string objection_to(const StepReport& step, const TrainingState& state, double spike_z) {
  if (!std::isfinite(step.loss) || !std::isfinite(step.gradient_norm)) {
    return concat("the loss is ", text_of(step.loss), " and the gradient's norm ", text_of(step.gradient_norm));
  }
  const LossWatch watch = loss_watch_of(state);
  if (const double z = watch.z_score(step.loss); spike_z > 0 && z > spike_z) {
    return concat("the loss is ", fmt::format("{:.4f}, {:.1f}", step.loss, z), " standard deviations above the ",
                  fmt::format("{:.4f}", watch.mean), " of the steps before (train.spike_z is ", spike_z, ")");
  }
  return "";
}

std::filesystem::path write_bad_step(const std::filesystem::path& run_directory, const BadStep& step, const Loader& loader,
                                     index first_sample, index batch_size, const Tokenizer& tokenizer) {
  OrderedJson object{{"step", step.report.step},
                     {"reason", step.reason},
                     {"loss", number_or_text(step.report.loss)},
                     {"grad_norm", number_or_text(step.report.gradient_norm)},
                     {"learning_rate", step.report.learning_rate},
                     {"batches", OrderedJson::array()}};
  const Loader::Step samples = loader.step({.first = first_sample, .count = batch_size * static_cast<index>(step.losses.size())});
  Batch batch;
  for (const double loss : step.losses) {
    loader.fill({.first = first_sample, .count = batch_size}, samples, batch);
    object["batches"].push_back({{"loss", number_or_text(loss)}, {"first_sample", first_sample}, {"rows", rows_of(batch, tokenizer)}});
    first_sample += batch_size;
  }
  std::filesystem::path file = run_directory / concat("bad-step-", step.report.step, ".json");
  replace_file(file, json_text(object, 1) + '\n');
  return file;
}

}  // namespace dikkat
