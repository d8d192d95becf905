#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/checkpoint/run_directory.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/color.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/terminal.h"
#include "train/cli/terminal/text.h"
#include "train/system/folder.h"
#include "train/system/format_numbers.h"
#include "train/system/temporary_file.h"
#include "train/web/report/run_view.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct ListArguments {
  std::string folder = "runs";
  bool json = false;
};

struct DiffArguments {
  std::vector<std::string> runs;
  bool json = false;
};

struct RemoveArguments {
  std::vector<std::string> runs;
  bool yes = false;
};

struct Cell {
  std::string text{};
  Color color = Color::none;
};
using TableRow = std::vector<Cell>;

std::vector<std::size_t> widths_of(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].text.size());
    }
  }
  return widths;
}

/// Returns the width of the lines of table_of().
index width_of(const std::vector<TableRow>& rows) {
  index width = -2;  // there are two blanks between columns
  for (const std::size_t one : widths_of(rows)) {
    width += static_cast<index>(one) + 2;
  }
  return width;
}

/// Shortens a string to at most `most` bytes of whole UTF-8 characters. Drops its beginning if `keep_end`, otherwise its end.
std::string shortened(const std::string& text, index most, bool keep_end) {
  constexpr std::string_view kMark = "...";
  if (std::ssize(text) <= most) {
    return text;
  }
  const auto is_inside = [&](std::size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  const auto kept = static_cast<std::size_t>(std::max<index>(0, most - std::ssize(kMark)));
  std::size_t at = keep_end ? text.size() - kept : kept;
  while (is_inside(at)) {
    keep_end ? ++at : --at;
  }
  return keep_end ? concat(kMark, text.substr(at)) : concat(text.substr(0, at), kMark);
}

/// Fits the list of runs into `columns`: first drops the last change, size and steps as needed, the least important first, then shortens
/// states and paths. `right` loses the same columns as `rows`. Returns the headings of the dropped columns.
std::string fit_list(std::vector<TableRow>& rows, std::vector<bool>& right, index columns) {
  constexpr const char* kLeastImportantFirst[] = {"last change", "size", "at step", "step"};
  constexpr index kShortest = 12;
  std::string left_out;
  for (const char* heading : kLeastImportantFirst) {
    if (width_of(rows) <= columns) {
      return left_out;
    }
    const auto at = std::ranges::find(rows.front(), heading, &Cell::text) - rows.front().begin();
    for (TableRow& row : rows) {
      row.erase(row.begin() + at);
    }
    right.erase(right.begin() + at);
    left_out += concat(left_out.empty() ? "" : ", ", heading);
  }
  for (const std::size_t column : {std::size_t{1}, std::size_t{0}}) {  // state, run
    const index excess = width_of(rows) - columns;
    const index most = std::max(kShortest, static_cast<index>(widths_of(rows)[column]) - excess);
    for (TableRow& row : rows) {
      row[column].text = excess > 0 ? shortened(row[column].text, most, column == 0) : row[column].text;
    }
  }
  return left_out;
}

/// Formats a comparison that is wider than the terminal as a list: each key, and below it the value of each run.
std::string list_of(const std::vector<TableRow>& rows) {
  std::string text;
  for (std::size_t key = 1; key < rows.size(); ++key) {
    text += rows[key].front().text + '\n';
    for (std::size_t run = 1; run < rows[key].size(); ++run) {
      text += concat("  ", rows.front()[run].text, ": ") + colored(rows[key][run].text, rows[key][run].color) + '\n';
    }
  }
  return text;
}

/// Formats a table whose columns are as wide as their longest cell. Columns marked in `right` are right-aligned.
std::string table_of(const std::vector<TableRow>& rows, const std::vector<bool>& right) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].text.size(), ' ');
      line += right[i] ? blanks : "";
      line += colored(row[i].text, row[i].color);
      line += i + 1 == row.size() ? "" : (right[i] ? "" : blanks) + "  ";
    }
    text += line + '\n';
  }
  return text;
}

std::string loss_text(const RunHistory::Evaluation* best) {
  if (best == nullptr) {
    return "-";
  }
  const EvaluationReport& r = best->report;
  return std::isnan(r.val_standard_error) ? fmt::format("{:.4f}", r.val_loss)
                                          : fmt::format("{:.4f} +- {:.4f}", r.val_loss, r.val_standard_error);
}

Color color_of(RunState state) {
  constexpr Color kColors[] = {Color::active, Color::good, Color::attention, Color::bad, Color::none};
  return kColors[static_cast<std::size_t>(state)];
}

/// Returns the last known step.
index step_of(const RunView& run) { return run.state == RunState::model ? run.checkpoints.back().step : run.history.last_step(); }

/// Returns "finished", "broken: it has no checkpoint" or "model, 1.2 M parameters".
std::string state_text(const RunView& run) {
  const std::string name(name_of(run.state));
  return run.state == RunState::model ? concat(name, ", ", short_count(run.parameters), " parameters")
         : run.problem.empty()        ? name
                                      : concat(name, ": ", run.problem);
}

Json to_json(const LossFingerprint& scored) {
  return scored.is_known() ? Json{{"targets", scored.targets}, {"contexts", scored.contexts}, {"text", scored.text}} : Json();
}

Json to_json(const RunView& run) {
  const RunHistory::Evaluation* best = run.history.best();
  return {{"path", run.path.string()},
          {"state", name_of(run.state)},
          {"problem", run.problem},
          {"step", step_of(run)},
          {"parameters", run.parameters > 0 ? Json(run.parameters) : Json()},
          {"best_step", best != nullptr ? Json(best->report.step) : Json()},
          {"best_val_loss", best != nullptr ? Json(best->report.val_loss) : Json()},
          {"val_standard_error", best != nullptr ? Json(best->report.val_standard_error) : Json()},
          {"scored", best != nullptr ? to_json(best->report.scored) : Json()},
          {"bytes", run.bytes},
          {"last_change", run.last_change}};
}

int list_command(const ListArguments& arguments) {
  require_input(is_there(arguments.folder), arguments.folder,
                ": there is no such folder, expected one with run directories; name it with --in FOLDER");
  // Read the runs.
  std::vector<RunView> runs;
  for (const fs::path& path : find_runs(arguments.folder)) {
    runs.push_back(view_run(path));
  }
  if (arguments.json) {
    Json list = Json::array();
    for (const RunView& run : runs) {
      list.push_back(to_json(run));
    }
    print_json({{"runs", std::move(list)}});
    flush_results();
    return 0;
  }
  if (runs.empty()) {
    print_message(concat("there are no runs in ", arguments.folder));
    return 0;
  }
  // Make a row for each run.
  std::vector<TableRow> rows = {{{"run"}, {"state"}, {"step"}, {"lowest validation loss"}, {"at step"}, {"size"}, {"last change"}}};
  for (const RunView& run : runs) {
    const RunHistory::Evaluation* best = run.history.best();
    rows.push_back(
        {{for_terminal(run.path.string())},
         {state_text(run), color_of(run.state)},
         {grouped_digits(step_of(run))},
         {loss_text(best)},
         {best != nullptr ? grouped_digits(best->report.step) : "-"},
         {short_bytes(run.bytes)},
         {run.last_change > 0 ? fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(static_cast<std::time_t>(run.last_change))) : "-"}});
  }
  // Print as many columns as fit.
  std::vector<bool> right = {false, false, true, true, true, true, false};
  const index columns = output_columns();
  const std::string left_out = columns > 0 ? fit_list(rows, right, columns) : "";
  print_result(table_of(rows, right));
  if (!left_out.empty()) {
    print_message(concat("columns left out because the terminal is narrow: ", left_out));
  }
  flush_results();
  return 0;
}

int diff_command(const DiffArguments& arguments) {
  require_input(arguments.runs.size() >= 2, "runs diff: found one run, expected two or more");
  // Read the runs, and compare them.
  std::vector<RunView> runs;
  for (const std::string& path : arguments.runs) {
    read_history(path);  // throws InputError, with the reason, if it cannot be read
    runs.push_back(view_run(path));
    require_input(runs.back().config.problem.empty(), path, ": its configuration cannot be read: ", runs.back().config.problem);
  }
  const std::vector<KeyOfRuns> keys = differing_keys(runs);
  const Comparison comparison = compare(runs);
  const std::optional<BetterRun> better = better_of(runs);
  if (arguments.json) {
    // Print all of it as JSON.
    Json list = Json::array();
    for (const RunView& run : runs) {
      list.push_back(to_json(run));
    }
    Json differences = Json::object();
    for (const KeyOfRuns& one : keys) {
      differences[one.key] = one.values;
    }
    Json verdict;
    if (better) {
      verdict = {{"best", runs[better->best].path.string()},
                 {"next", runs[better->next].path.string()},
                 {"difference", better->difference},
                 {"standard_error", better->error}};
    }
    print_json({{"runs", std::move(list)},
                {"differences", std::move(differences)},
                {"comparison", name_of(comparison)},
                {"remark", remark_on(comparison, runs)},
                {"better", std::move(verdict)}});
    flush_results();
    return 0;
  }
  // Print a column for each run: its loss, its steps, and the keys that differ.
  std::vector<TableRow> rows(3);
  rows[0] = {{}};
  rows[1] = {{"lowest validation loss"}};
  rows[2] = {{"steps"}};
  for (const RunView& run : runs) {
    rows[0].push_back({for_terminal(run.path.string())});
    rows[1].push_back({loss_text(run.history.best()),
                       better && comparison == Comparison::same && &run == &runs[better->best] ? Color::good : Color::none});
    rows[2].push_back({grouped_digits(run.history.last_step())});
  }
  for (const KeyOfRuns& one : keys) {
    rows.push_back({{one.key}});
    for (const std::string& value : one.values) {
      rows.back().push_back({value.empty() ? "-" : for_terminal(value)});
    }
  }
  const index columns = output_columns();
  print_result(columns > 0 && width_of(rows) > columns ? list_of(rows) : table_of(rows, std::vector<bool>(runs.size() + 1, false)));
  // Print which run is better, and whether the losses are comparable.
  if (better) {
    print_result("\n" + for_terminal(in_words(*better, runs)) + "\n");
  }
  if (const std::string remark = remark_on(comparison, runs); !remark.empty()) {
    print_result((better ? "" : "\n") + for_terminal(remark) + "\n");
  }
  flush_results();
  return 0;
}

/// Throws InputError if the folder contains anything that is not part of a run.
void require_nothing_but_a_run(const fs::path& path) {
  require_input(link_text(path).empty(), path.string(), " is a link, expected the run directory itself");
  require_input(is_there(path / "metrics.jsonl") || is_there(path / "config.toml"), path.string(),
                " is not the directory of a run: it has neither metrics.jsonl nor config.toml");
  for (const fs::path& entry : paths_in(path)) {
    const std::string name = entry.filename().string();
    const bool ours = name == "config.toml" || name == "metrics.jsonl" || name == "checkpoints" || name == "report.html" ||
                      name == "reference.json" || name == ".lock" || name.starts_with("bad-step-") || name.starts_with(".tmp-") ||
                      name.find(".aside") != std::string::npos;
    require_input(ours, path.string(), " contains ", name, ", which was not written by a run: move it elsewhere before you remove the run");
  }
}

/// Ends a removal of this run that was killed, and returns whether there was one.
bool ends_removal(const fs::path& path) {
  const fs::path run = (absolute_path(path) / "").lexically_normal().parent_path();
  const bool is_one = !is_there(run) && remove_leftovers(run.parent_path(), run.filename().string()) > 0;
  if (is_one) {
    print_message(concat("removed ", path.string()));
  }
  return is_one;
}

bool confirmed(const std::string& question) {
  print_message(question + " [y/N]");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int remove_command(const RemoveArguments& arguments) {
  // Lock and check every run before any is removed.
  std::vector<RunDirectory> held;  // locked until they are removed, so that nothing can resume them meanwhile
  index bytes = 0;
  for (const std::string& path : arguments.runs) {
    if (ends_removal(path)) {
      continue;
    }
    held.push_back(RunDirectory::open(path));
    require_nothing_but_a_run(path);
    require_input(held.back().is_guarded(), path,
                  " is on a file system without locks, so dikkat cannot see whether it is being trained: make sure that it is not, then "
                  "remove it with rm -r");
    bytes += view_run(path).bytes;
  }
  if (held.empty()) {
    return 0;
  }
  // Ask.
  const std::string what = held.size() == 1 ? held.front().path().string() : fmt::format("{} runs", held.size());
  if (!arguments.yes) {
    require_input(::isatty(STDIN_FILENO) != 0,
                  "nothing was removed: standard input is not a terminal, so the question cannot be asked; --yes removes without asking");
    if (!confirmed(fmt::format("Remove {} with all checkpoints ({})?", what, short_bytes(bytes)))) {
      print_message("nothing was removed");
      return 1;
    }
  }
  // Remove them.
  for (RunDirectory& run : held) {
    const std::string path = run.path().string();
    std::move(run).remove();
    print_message(concat("removed ", path));
  }
  return 0;
}

}  // namespace

void add_runs(Commands& program) {
  const auto l = std::make_shared<ListArguments>();
  Commands group = program.group("runs", "List, compare and remove runs", [l] { return list_command(*l); });
  group.own().text("--in", l->folder, "FOLDER", "Folder that holds the run directories");
  group.own().flag("--json", l->json,
                   "Print one JSON object: runs, each with path, state, step, parameters, best_val_loss, bytes, last_change");

  const auto d = std::make_shared<DiffArguments>();
  Command diff = group.add("diff", "Compare runs: their losses, and the keys in which they differ",
                           "  dikkat runs diff runs/mine runs/other", [d] { return diff_command(*d); });
  diff.texts("RUN_DIR", d->runs, "", "Two or more run directories").required();
  diff.flag("--json", d->json,
            "Print one JSON object: runs, differences (for each key a list of values), comparison (same, other contexts, unknown, other "
            "targets), remark and better");

  const auto r = std::make_shared<RemoveArguments>();
  Command remove = group.add("rm", "Remove runs and their checkpoints after asking; never a run that is being trained",
                             "  dikkat runs rm runs/mine runs/other", [r] { return remove_command(*r); });
  remove.texts("RUN_DIR", r->runs, "", "Run directories to remove").required();
  remove.flag("--yes", r->yes, "Remove without asking");
}

}  // namespace dikkat
