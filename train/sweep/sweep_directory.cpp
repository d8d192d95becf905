#include "train/sweep/sweep_directory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/system/temporary_file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr index kFormat = 1;
constexpr const char* kDescriptionName = "sweep.json";
constexpr const char* kResultsName = "results.jsonl";
constexpr const char* kBestName = "best.toml";
constexpr const char* kRemoveLine = ": remove the line; its run is then read again";

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
double number_in(const nlohmann::json& object, const char* name) {
  const nlohmann::json& value = object.at(name);
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// Returns whether the path of a combination, whose name was read from a file, lies in the sweep's folder.
bool is_safe(const std::string& name) { return name.find('/') == std::string::npos && !name.starts_with('.') && name.size() < 256; }

std::string text_of(const SweepDescription& description) {
  Json combinations = Json::array();
  for (const Combination& c : description.combinations) {
    combinations.push_back({{"name", c.name}, {"seconds", c.seconds}, {"config", to_toml(c.config)}});
  }
  const Json object = {
      {"format", kFormat}, {"eta", description.eta}, {"seeds", description.seeds}, {"combinations", std::move(combinations)}};
  return object.dump(1) + '\n';
}

SweepDescription description_in(const nlohmann::json& object, const std::string& source) {
  require_input(object.at("format").get<index>() == kFormat, source, " has the format ", short_text(object.at("format")), ", expected ",
                kFormat, ": a newer dikkat wrote it");
  SweepDescription description{
      .combinations = {}, .seeds = object.at("seeds").get<std::vector<index>>(), .eta = object.at("eta").get<index>()};
  for (const nlohmann::json& c : object.at("combinations")) {
    const auto name = c.at("name").get<std::string>();
    Config config = parse_config_of_run(c.at("config").get<std::string>(), concat(source, ", ", name));
    resolve(config);
    validate(config);
    description.combinations.push_back({.name = name, .config = std::move(config), .seconds = number_in(c, "seconds")});
  }
  const auto& all = description.combinations;
  const bool sound =
      !all.empty() && !description.seeds.empty() && (description.eta == 0 || description.eta >= 2) &&
      std::all_of(all.begin(), all.end(), [&](const Combination& c) {
        return is_safe(c.name) && (!c.name.empty() || description.seeds.size() > 1) && c.seconds >= 0 && c.config.train.max_steps > 0;
      });
  require_input(sound, source, " does not describe a sweep: it has no combinations or seeds, or invalid names");
  return description;
}

std::string line_of(const LegResult& r, const SweepDescription& description) {
  const bool last = r.leg.steps == description.combinations[static_cast<std::size_t>(r.leg.combination)].config.train.max_steps;
  Json line = {{"run", description.run_name(r.leg.combination, r.leg.seed)},
               {"state", r.failed() ? "failed"
                         : last     ? "finished"
                                    : "at a rung"},
               {"combination", r.leg.combination},
               {"seed", r.leg.seed},
               {"from", r.leg.from},
               {"steps", r.leg.steps},
               {"step", r.step},
               {"val_loss", number(r.loss)},
               {"val_standard_error", number(r.standard_error)},
               {"decided_by", r.decided_by},
               {"scored", r.scored},
               {"seconds", r.seconds},
               {"failure", r.failure}};
  if (!r.decided_by.empty()) {
    line[r.decided_by] = number(r.accuracy);
  }
  return json_text(line) + '\n';
}

/// Returns the name of the metric that decides; empty for runs without one. Earlier versions did not write it.
std::string decided_by_in(const nlohmann::json& line) {
  return line.value("decided_by", line.contains("rewards_accuracy") && line["rewards_accuracy"].is_number() ? "rewards_accuracy" : "");
}

LegResult result_in(const nlohmann::json& line, const SweepDescription& description) {
  LegResult r{.leg = {.combination = line.at("combination").get<index>(),
                      .seed = line.at("seed").get<index>(),
                      .from = line.at("from").get<index>(),
                      .steps = line.at("steps").get<index>()},
              .step = line.at("step").get<index>(),
              .loss = number_in(line, "val_loss"),
              .standard_error = number_in(line, "val_standard_error"),
              .decided_by = decided_by_in(line),
              .scored = line.value("scored", ""),  // earlier versions did not write it
              .seconds = number_in(line, "seconds"),
              .failure = line.at("failure").get<std::string>()};
  r.accuracy = r.decided_by.empty() ? -1 : number_in(line, r.decided_by.c_str());
  const bool known = r.leg.combination >= 0 && r.leg.combination < static_cast<index>(description.combinations.size());
  require_input(known && line.at("run") == description.run_name(r.leg.combination, r.leg.seed), "its run does not belong to this sweep");
  return r;
}

std::string listed(const std::vector<index>& numbers) {
  std::string list;
  for (const index number : numbers) {
    list += concat(list.empty() ? "" : ",", number);
  }
  return list;
}

std::string names_of(const SweepDescription& description) {
  constexpr std::size_t kMost = 3;
  const auto& all = description.combinations;
  std::string list;
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
    list += concat(list.empty() ? "" : "; ", all[i].name);
  }
  return concat(all.size(), all.size() == 1 ? " combination (" : " combinations (", list, all.size() > kMost ? "; ..." : "", ')');
}

}  // namespace

SweepPlan SweepDescription::plan() const {
  SweepPlan plan{.max_steps = {}, .seeds = seeds, .eta = eta};
  for (const Combination& c : combinations) {
    plan.max_steps.push_back(c.config.train.max_steps);
  }
  return plan;
}

std::string SweepDescription::run_name(index combination, index seed) const {
  const std::string& name = combinations.at(static_cast<std::size_t>(combination)).name;
  return seeds.size() == 1 ? name : concat(name, name.empty() ? "" : ",", "seed=", seed);
}

std::string difference_between(const SweepDescription& found, const SweepDescription& wanted) {
  const auto same_name = [](const Combination& a, const Combination& b) { return a.name == b.name; };
  if (!std::equal(found.combinations.begin(), found.combinations.end(), wanted.combinations.begin(), wanted.combinations.end(),
                  same_name)) {
    return concat("it has ", names_of(found), ", not ", names_of(wanted));
  }
  if (found.seeds != wanted.seeds) {
    return concat("its seeds are ", listed(found.seeds), ", not ", listed(wanted.seeds));
  }
  if (found.eta != wanted.eta) {
    const auto shown = [](index eta) { return eta == 0 ? std::string("no halving") : concat("eta ", eta); };
    return concat("it has ", shown(found.eta), ", not ", shown(wanted.eta));
  }
  std::string list;
  for (std::size_t i = 0; i < found.combinations.size() && list.empty(); ++i) {
    for (const std::string_view section : schema::sections()) {
      for (const ConfigDifference& key : differences(found.combinations[i].config, wanted.combinations[i].config, section)) {
        list += concat(list.empty() ? "" : ", ", "its ", key.path, " is ", key.ours, ", not ", key.theirs);
      }
    }
  }
  return list;
}

bool SweepDirectory::is_one(const fs::path& path) { return is_there(path / kDescriptionName); }

void SweepDirectory::require_usable(const fs::path& path) {
  if (!is_there(path)) {
    return;
  }
  require_input(is_folder(path), path.string(), " is a file, expected a folder or a new name: choose another --out");
  const bool empty = std::ranges::all_of(paths_in(path), [](const fs::path& entry) {
    const std::string name = entry.filename().string();
    return name == kLockName || name.starts_with(concat(kTemporaryPrefix, kDescriptionName));
  });
  require_input(empty, path.string(), " is not empty, and is not the folder of a sweep: choose another --out");
}

SweepDirectory SweepDirectory::create(const fs::path& path, SweepDescription description) {
  require_usable(path);
  make_folders(path);
  SweepDirectory directory(path);
  require_usable(path);  // again, because another program may have had the lock meanwhile
  directory.lock_.sign();
  remove_temporaries(path);
  replace_file(path / kDescriptionName, text_of(description));
  directory.description_ = std::move(description);
  return directory;
}

SweepDirectory SweepDirectory::open(const fs::path& path) {
  require_input(is_one(path), path.string(), " is not the folder of a sweep: it has no ", kDescriptionName);
  SweepDirectory directory(path);
  directory.lock_.sign();
  remove_temporaries(path);
  directory.read_description();
  directory.read_results();
  return directory;
}

void SweepDirectory::read_description() {
  const std::string file = (path_ / kDescriptionName).string();
  try {
    description_ = description_in(try_json(read_bytes(file)).value_or(nullptr), file);
  } catch (const nlohmann::json::exception&) {
    fail_input(
        file, " is damaged (it is not the JSON that a sweep writes): bring it back as it was, or start the sweep again with another --out");
  }
}

void SweepDirectory::read_results() {
  const fs::path file = path_ / kResultsName;
  if (!is_there(file)) {
    return;
  }
  const std::string text = read_bytes(file);
  index number = 0;
  for (std::size_t begin = 0; begin < text.size(); begin = std::min(text.find('\n', begin), text.size()) + 1) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    ++number;
    try {
      results_.push_back(result_in(try_json(line).value_or(nullptr), description_));
    } catch (const nlohmann::json::exception&) {
      fail_input(file.string(), ':', number, " is not a line of this sweep (it is not the JSON that a sweep writes)", kRemoveLine);
    } catch (const Error& error) {
      fail_input(file.string(), ':', number, " is not a line of this sweep (", error.what(), ')', kRemoveLine);
    }
    lines_ += line + '\n';
  }
}

void SweepDirectory::record(const LegResult& result) {
  lines_ += line_of(result, description_);
  replace_file(path_ / kResultsName, lines_);
}

fs::path SweepDirectory::write_best(index combination) const {
  fs::path file = path_ / kBestName;
  replace_file(file, to_recipe(description_.combinations.at(static_cast<std::size_t>(combination)).config));
  return file;
}

}  // namespace dikkat
