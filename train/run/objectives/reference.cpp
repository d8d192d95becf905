#include "train/run/objectives/reference.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/examples/preference_dataset.h"
#include "train/model/precision.h"
#include "train/run/objectives/preference_model.h"
#include "train/system/file.h"
#include "train/system/json.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

constexpr index kReferenceFormat = 1;
constexpr const char* kHowToContinue =
    "; restore the file, or begin a new run: a run that has trained cannot compute the log-probabilities of its start again";

struct NamedPart {
  const char* name;
  PreferenceDataset* data;
};

/// Returns the parts of the data that have preferences.
std::vector<NamedPart> parts_of(const TrainingData& data) {
  std::vector<NamedPart> all;
  for (const SourceData& source : data.sources) {
    all.push_back({"train", dynamic_cast<PreferenceDataset*>(source.train.get())});
    all.push_back({"validation", dynamic_cast<PreferenceDataset*>(source.validation.get())});
  }
  std::erase_if(all, [](const NamedPart& one) { return one.data == nullptr; });
  return all;
}

/// Returns those parts that have examples.
std::vector<NamedPart> filled_parts_of(const TrainingData& data) {
  std::vector<NamedPart> all = parts_of(data);
  std::erase_if(all, [](const NamedPart& one) { return one.data->evaluation() == nullptr; });
  return all;
}

/// Returns the hash of the numbers' bits, hex.
std::string hash_of(std::span<const double> numbers) { return to_hex(sha256(std::as_bytes(numbers))); }

/// Computes one text's log-probabilities.
class ReferencePass {
 public:
  ReferencePass(const LanguageModel& model, const Config& config, Ranks& ranks)
      : model_(model), config_(config), preference_(model, config.preference), ranks_(ranks) {}

  /// Returns the log-probabilities, or nothing if it was stopped. `progress` gets the number of batches done by this rank.
  std::optional<std::vector<double>> operator()(const PreferenceDataset& data, const std::function<bool()>& stop,
                                                const std::function<void(index)>& progress) {
    // Each rank takes a range of batches. The last batch begins again at the first row, so that all have one shape.
    const Samples& samples = *data.evaluation();
    const index rows = config_.train.batch_size, batches = ceil_div(samples.count(), rows), ranks = ranks_.size();
    const auto first_of = [&](index rank) { return batches * rank / ranks; };
    const index begin = first_of(ranks_.rank()), end = first_of(ranks_.rank() + 1);
    const index rounds = ceil_div(batches, ranks);
    std::vector<double> by_row(static_cast<std::size_t>(data.preferences().count()), 0.0);  // in the order of the rows
    std::vector<index> first_answer = {0};  // each row's first answer, and the number of all
    for (index i = 0; i < samples.count(); ++i) {
      first_answer.push_back(first_answer.back() + 2 * samples.units(i));
    }
    // Compute this rank's batches. All ranks ask `stop` equally often.
    for (index round = 0; round < rounds; ++round) {
      if (stop()) {
        return std::nullopt;
      }
      if (begin + round < end) {
        compute(samples, (begin + round) * rows, first_answer, by_row);
        progress(round + 1);
      }
    }
    // Share the results among the ranks.
    std::vector<OwnedRange> parts;
    const auto answers_before = [&](index batch) {
      return first_answer[static_cast<std::size_t>(std::min(batch * rows, samples.count()))];
    };
    for (int rank = 0; rank < ranks; ++rank) {
      parts.push_back({answers_before(first_of(rank)), answers_before(first_of(rank + 1)), rank});
    }
    ranks_.share<double>(parts, by_row.data());
    // Put them in the order of the store.
    std::vector<double> by_number(by_row.size());
    for (index i = 0; i < samples.count(); ++i) {
      batch_.reshape(1, samples.lengths(i));
      samples.fill(0, i, 0, batch_);
      for (std::size_t answer = 0; answer < batch_.answers.size(); ++answer) {
        by_number[static_cast<std::size_t>(batch_.answers[answer].number)] =
            by_row[static_cast<std::size_t>(first_answer[static_cast<std::size_t>(i)]) + answer];
      }
    }
    return by_number;
  }

 private:
  void compute(const Samples& samples, index first, const std::vector<index>& first_answer, std::vector<double>& by_row) {
    const index rows = config_.train.batch_size;
    batch_.reshape(rows, samples.longest());
    for (index row = 0; row < rows; ++row) {
      samples.fill(0, (first + row) % samples.count(), row, batch_);
    }
    Pass pass{.tape = tape_, .recompute = Recompute::block, .operands = operand_type(config_.train)};
    const std::span<const double> found = preference_.log_probabilities(model_.features(pass, batch_), batch_);
    tape_.reset();
    const auto begin = static_cast<std::size_t>(first_answer[static_cast<std::size_t>(first)]);
    const auto end = static_cast<std::size_t>(first_answer[static_cast<std::size_t>(std::min(first + rows, samples.count()))]);
    std::copy_n(found.begin(), end - begin, by_row.begin() + static_cast<std::ptrdiff_t>(begin));
  }

  const LanguageModel& model_;
  const Config& config_;
  PreferenceModel preference_;
  Ranks& ranks_;
  Tape tape_{Recording::off};
  Batch batch_;
};

}  // namespace

ReferenceKey reference_key(const TrainingData& data, const std::string& base_hash) {
  Sha256 tokens;
  const auto add = [&](const std::string& digest) { tokens.add(std::as_bytes(std::span(digest))); };
  for (const NamedPart& part : parts_of(data)) {
    add(part.data->preferences().hash());
  }
  const ChatTemplate* form = data.chat();
  return {.base = base_hash, .chat_template = form == nullptr ? "" : to_hex(sha256(form->jinja())), .tokens = to_hex(tokens.finish())};
}

bool compute_reference(const LanguageModel& model, const Config& config, TrainingData& data, Ranks& ranks,
                       const std::function<bool()>& stop, const std::function<void(double)>& progress) {
  ReferencePass pass(model, config, ranks);
  const std::vector<NamedPart> parts = filled_parts_of(data);
  double all = 0, done = 0;
  const auto batches_of = [&](const NamedPart& one) {
    return static_cast<double>(ceil_div(ceil_div(one.data->evaluation()->count(), config.train.batch_size), index{ranks.size()}));
  };
  for (const NamedPart& one : parts) {
    all += batches_of(one);
  }
  for (const NamedPart& one : parts) {
    auto found = pass(*one.data, stop, [&](index batches) { progress((done + static_cast<double>(batches)) / all); });
    if (!found) {
      return false;
    }
    one.data->set_reference(std::move(*found));
    done += batches_of(one);
  }
  return true;
}

std::filesystem::path reference_file(const std::filesystem::path& run_directory) { return run_directory / "reference.json"; }

void write_reference(const std::filesystem::path& file, const TrainingData& data, const ReferenceKey& key) {
  nlohmann::ordered_json object = {{"format", kReferenceFormat},
                                   {"base", key.base},
                                   {"template", key.chat_template},
                                   {"tokens", key.tokens},
                                   {"log_probabilities", nullptr}};
  nlohmann::ordered_json& parts = object["log_probabilities"] = nlohmann::ordered_json::object();
  for (const NamedPart& part : parts_of(data)) {
    const std::span<const double> numbers = part.data->preferences().reference();
    parts[part.name] = {{"sha256", hash_of(numbers)}, {"values", std::vector<double>(numbers.begin(), numbers.end())}};
  }
  replace_file(file, json_text(object) + '\n');
}

bool read_reference(const std::filesystem::path& file, TrainingData& data, const ReferenceKey& key) {
  if (!is_there(file)) {
    return false;
  }
  const auto object = try_json(read_bytes(file));
  const auto text_of = [&](const char* name) {
    const auto* const value = object && object->is_object() ? find_value(*object, name) : nullptr;
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
  };
  const auto* const format = object && object->is_object() ? find_value(*object, "format") : nullptr;
  require_input(format != nullptr && *format == kReferenceFormat, file.string(), " is not a file of reference log-probabilities of format ",
                kReferenceFormat, kHowToContinue);
  const auto require_equal = [&](const char* name, const std::string& expected, const char* what) {
    require_input(text_of(name) == expected, file.string(), " belongs to ", what, ": its hash is ", text_of(name), ", expected ", expected,
                  kHowToContinue);
  };
  require_equal("base", key.base, "another reference model");
  require_equal("template", key.chat_template, "another chat template");
  require_equal("tokens", key.tokens, "other examples, another tokenizer or another length of windows");
  for (const NamedPart& one : filled_parts_of(data)) {
    const auto* const parts = find_value(*object, "log_probabilities");
    const auto* const part = parts != nullptr && parts->is_object() ? find_value(*parts, one.name) : nullptr;
    const auto* const list = part != nullptr && part->is_object() ? find_value(*part, "values") : nullptr;
    const bool are_numbers = list != nullptr && list->is_array() && std::ssize(*list) == one.data->preferences().count() &&
                             std::ranges::all_of(*list, [](const auto& number) { return number.is_number(); });
    std::vector<double> numbers = are_numbers ? list->get<std::vector<double>>() : std::vector<double>();
    require_input(are_numbers && part->value("sha256", nlohmann::json()) == hash_of(numbers), file.string(), " is damaged: \"", one.name,
                  "\" does not have the ", one.data->preferences().count(), " log-probabilities that were written", kHowToContinue);
    one.data->set_reference(std::move(numbers));
  }
  return true;
}

}  // namespace dikkat
