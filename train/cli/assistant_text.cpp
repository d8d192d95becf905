#include "train/cli/assistant_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/assistant/assumptions.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/cli/terminal/write_page.h"
#include "train/metrics/run_history.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/web/report/page.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
using assistant::Plan;
using assistant::PlanFigures;
using assistant::Stage;
using assistant::StageKind;

std::string times(double epochs) { return fmt::format("{:.{}f} times", epochs, epochs < 10 ? 1 : 0); }

std::string describe(const Stage& stage, const Plan& plan, const PlanFigures& f) {
  const std::string steps = grouped_digits(stage.steps);
  switch (stage.kind) {
    case StageKind::pretrain:
      return fmt::format("{} layers x {}, {} parameters; {} steps, {} tokens ({:.1f} for each parameter); the text is read {}",
                         f.size.n_layer, f.size.n_embd, short_count(f.parameters), steps,
                         short_count(static_cast<index>(f.pretrain_tokens)), f.pretrain_tokens / static_cast<double>(f.parameters),
                         times(f.pretrain_epochs));
    case StageKind::chats:
      return fmt::format("{} conversation{}{}; {} steps, read {}", grouped_digits(f.conversations), f.conversations == 1 ? "" : "s",
                         plan.wishes.chats.empty() ? concat(" of dikkat's own, as ", plan.wishes.name) : concat(" of ", plan.wishes.chats),
                         steps, times(f.chat_epochs));
    case StageKind::preferences:
      return fmt::format("{}{} examples of {}; {} steps",
                         plan.learned_pairs < f.pairs ? fmt::format("{} of ", grouped_digits(plan.learned_pairs)) : "",
                         grouped_digits(f.pairs), plan.wishes.pairs, steps);
  }
  fail("describe: a stage has no kind");
}

std::string describe_questions(const Plan& plan, const PlanFigures& f) {
  return f.asked > 0             ? fmt::format("{} held-out conversations, asked after each stage", f.asked)
         : !f.has_held_out_chats ? fmt::format("none: there are fewer than {} conversations", assistant::kFewestChats)
                                 : fmt::format("none: no held-out question with its answer has at most {} bytes, the most that always fit",
                                               plan.longest_question);
}

struct KindOfTask {
  const char* key;
  const char* what;
};
constexpr KindOfTask kKinds[] = {{"choices", "chosen among four"}, {"exact_match", "written exactly"}};

/// "42 of 58 (0.60 to 0.82)"; "-" if that is not known.
std::string share_text(const std::string& tasks, const char* key) {
  const auto object = try_json(tasks);
  const auto* const share = object && object->is_object() ? find_value(*object, key) : nullptr;
  return share == nullptr ? "-"
                          : fmt::format("{} of {} ({:.2f} to {:.2f})", share->value("right", 0), share->value("questions", 0),
                                        share->value("low", 0.0), share->value("high", 0.0));
}

/// Returns the best loss of a stage's run, "2.345 at step 300"; "-" if there is none.
std::string loss_of(const fs::path& run) {
  HistoryReader reader(run);
  reader.update();
  const RunHistory::Evaluation* const best = reader.history().best();
  return best == nullptr ? "-" : fmt::format("{:.4f} at step {}", best->report.val_loss, best->report.step);
}

/// Returns the tables of a report: the stages, and the answers to held-out questions.
std::vector<ReportTable> tables_of(const Plan& plan) {
  ReportTable stages{.title = "Stages", .columns = {"stage", "steps", "expected", "took"}, .rows = {}};
  ReportTable answers{.title = "Answers to held-out questions, with 95 % intervals", .columns = {"after"}, .rows = {}};
  for (const KindOfTask& kind : kKinds) {
    answers.columns.emplace_back(kind.what);
  }
  const auto add_answers = [&](std::string_view name, const std::string& tasks) {
    std::vector<std::string> row = {std::string(name)};
    for (const KindOfTask& kind : kKinds) {
      row.push_back(share_text(tasks, kind.key));
    }
    answers.rows.push_back(std::move(row));
  };
  if (!plan.wishes.from.empty()) {
    add_answers("nothing", plan.before);
  }
  for (const Stage& stage : plan.stages) {
    const std::string_view name = name_of(stage.kind);
    stages.rows.push_back(
        {std::string(name), grouped_digits(stage.steps), clock_time(stage.seconds), stage.done ? clock_time(stage.took) : "-"});
    add_answers(name, stage.tasks);
  }
  return plan.tasks.empty() ? std::vector{stages} : std::vector{stages, answers};
}

/// Formats a table whose columns are as wide as their longest cell.
std::string text_of(const ReportTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& name : table.columns) {
    widths.push_back(name.size());
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      text += fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += '\n';
  };
  add(table.columns);
  std::ranges::for_each(table.rows, add);
  return text;
}

/// Formats a table in Markdown.
std::string markdown_of(const ReportTable& table) {
  std::string text = concat("## ", table.title, "\n\n| ", fmt::to_string(fmt::join(table.columns, " | ")), " |\n|---|");
  for (std::size_t i = 1; i < table.columns.size(); ++i) {
    text += "--:|";
  }
  for (const auto& row : table.rows) {
    text += fmt::format("\n| {} |", fmt::join(row, " | "));
  }
  return text + "\n\n";
}

}  // namespace

std::string plan_table(const assistant::PlanOutline& outline) {
  const auto& [plan, figures] = outline;
  std::string table;
  const auto add = [&](std::string_view name, double seconds, const std::string& what) {
    table += fmt::format("{:<12} {:>8}  {}\n", name, clock_time(seconds), what);
  };
  if (plan.wishes.from.empty()) {
    const std::string copies =
        figures.repeats > 0 ? fmt::format("; {:.0f} % of the texts are copies, which are not counted", 100 * figures.repeats) : "";
    add("tokenizer", figures.reading_seconds,
        fmt::format("{} word pieces from {} bytes{}", grouped_digits(figures.vocab_size), grouped_digits(figures.bytes), copies));
  } else {
    add("reading", figures.reading_seconds, "the texts, and evaluating");
  }
  for (const Stage& stage : plan.stages) {
    add(name_of(stage.kind), stage.seconds, describe(stage, plan, figures));
  }
  if (plan.wishes.has_chats()) {
    add("questions", figures.question_seconds, describe_questions(plan, figures));
  }
  add("planning", figures.planning_seconds, "measuring this machine on the texts");
  add("in all", figures.expected_seconds(plan), concat("of the ", clock_time(plan.wishes.seconds), " that were given"));
  return table;
}

std::string remark_on_small_text(const PlanFigures& figures) {
  return figures.pretrain_epochs > assistant::kUsefulEpochs
             ? fmt::format(
                   "warning: the text is small for this time: it will be read {}, and after about {} times a model learns little more and "
                   "starts to memorize; add texts to --corpus, or give a shorter --time",
                   times(figures.pretrain_epochs), assistant::kUsefulEpochs)
             : "";
}

std::string report_text(const Plan& plan) {
  std::string text;
  for (const ReportTable& table : tables_of(plan)) {
    text += concat(text.empty() ? "" : "\n", text_of(table));
  }
  return text;
}

fs::path write_assistant_report(const fs::path& folder, const Plan& plan) {
  std::vector<RunView> runs;
  ReportTable losses{.title = "Losses, over each stage's own texts", .columns = {"stage", "lowest validation loss"}, .rows = {}};
  for (const Stage& stage : plan.stages) {
    const std::string name(name_of(stage.kind));
    const fs::path run = folder / name;
    if (is_there(run / "metrics.jsonl")) {
      runs.push_back(view_run(run));
      losses.rows.push_back({name, loss_of(run)});
    }
  }
  require_input(!runs.empty(), folder.string(), " has no stage that has begun: continue it with `dikkat resume ", folder.string(), "`");
  const std::vector<ReportTable> tables = tables_of(plan);
  std::string text = concat("# ", plan.wishes.name, "\n\n## The plan\n\n```\n", plan.table, "```\n\n");
  for (const ReportTable& table : tables) {
    text += markdown_of(table);
  }
  replace_file(folder / "report.md", text + markdown_of(losses));
  const fs::path page = folder / "report.html";
  write_page(page, report_page(runs, false, tables));
  return page;
}

void AssistantMessages::reading(const LoadingReport& report) {
  if (!line_) {
    line_.emplace();
  }
  (*line_)(report);
}

void AssistantMessages::begins(const Plan& plan) { print_message(plan.table); }

void AssistantMessages::stage_begins(const Plan& plan, std::size_t stage) {
  print_message(fmt::format("stage {} of {}: {}", stage + 1, plan.stages.size(), name_of(plan.stages[stage].kind)));
}

}  // namespace dikkat
