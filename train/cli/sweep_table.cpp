#include "train/cli/sweep_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/text.h"

namespace dikkat {
namespace {

using State = Standing::State;

constexpr const char* kStateNames[] = {"finished", "stopped", "unfinished", "waiting", "failed"};

const std::string& name_of(const SweepDescription& sweep, const Standing& s) {
  return sweep.combinations[static_cast<std::size_t>(s.combination)].name;
}

std::string state_text(const Standing& s) {
  const std::string name = kStateNames[static_cast<std::size_t>(s.state)];
  return s.state == State::stopped  ? fmt::format("{} at rung {}", name, s.rung)
         : s.state == State::failed ? name + ": " + for_terminal(s.failure)
                                    : name;
}

std::string loss_text(const Standing& s) {
  if (s.seeds.empty()) {
    return "-";
  }
  const std::string error = std::isnan(s.standard_error) ? "" : fmt::format(" +- {:.4f}", s.standard_error);
  return fmt::format("{:.4f}{}{}", s.loss, error, s.seeds.size() == 1 && !error.empty() ? "*" : " ");
}

}  // namespace

void print_sweep_table(const SweepDescription& sweep, const std::vector<Standing>& all) {
  std::size_t width = std::string_view("combination").size();
  for (const Standing& s : all) {
    width = std::max(width, name_of(sweep, s).size());
  }
  const auto decided = std::ranges::find_if(all, [](const Standing& s) { return !s.decided_by.empty(); });
  const std::string metric = decided == all.end() ? "" : decided->decided_by;
  const auto row = [&](const std::string& name, const std::string& seeds, const std::string& steps, const std::string& value,
                       const std::string& loss, const std::string& time, const std::string& state) {
    print_result(fmt::format("{:<{}}  {:>5}  {:>8}  {}{:>18}  {:>8}  {}\n", name, width, seeds, steps,
                             metric.empty() ? "" : fmt::format("{:>{}}  ", value, std::max<std::size_t>(metric.size(), 5)), loss, time,
                             state));
  };
  row("combination", "seeds", "steps", metric, "validation loss ", "time", "state");
  for (const Standing& s : all) {
    row(name_of(sweep, s), fmt::format("{}/{}", s.seeds.size(), sweep.seeds.size()), grouped_digits(s.step),
        s.accuracy < 0 ? "-" : fmt::format("{:.3f}", s.accuracy), loss_text(s), clock_time(s.seconds), state_text(s));
  }
  const bool some_alone = std::any_of(all.begin(), all.end(), [](const Standing& s) { return s.seeds.size() == 1; });
  const bool some_several = std::any_of(all.begin(), all.end(), [](const Standing& s) { return s.seeds.size() > 1; });
  print_result(some_several ? "+- is the standard error of the mean over seeds\n" : "");
  print_result(some_alone ? "* only one seed: +- is the standard error of its evaluation over the validation text\n" : "");
}

void print_sweep_json(const std::filesystem::path& out, const SweepDescription& sweep, const std::vector<Standing>& all, bool complete) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const Standing& s : all) {
    rows.push_back({{"name", name_of(sweep, s)},
                    {"state", kStateNames[static_cast<std::size_t>(s.state)]},
                    {"rung", s.rung},
                    {"steps", s.step},
                    {"seeds", s.seeds},
                    {"val_loss", s.loss},
                    {"val_standard_error", s.standard_error},
                    {"decided_by", s.decided_by},
                    {"error_over", s.seeds.size() > 1 ? "seeds" : "text"},
                    {"seconds", s.seconds},
                    {"failure", s.failure}});
    if (!s.decided_by.empty()) {
      rows.back()[s.decided_by] = s.accuracy;
    }
  }
  print_json({{"out", out.string()},
              {"complete", complete},
              {"best", has_winner(all) ? Json(name_of(sweep, all.front())) : Json()},
              {"rungs", sweep.plan().rungs()},
              {"combinations", std::move(rows)}});
}

}  // namespace dikkat
