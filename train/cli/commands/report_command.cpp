#include <memory>

#include "train/cli/assistant_text.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/write_page.h"
#include "train/web/report/page.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;  // empty: RUN_DIR/report.html, or report.html for several
};

std::vector<RunView> views_of(const std::vector<std::string>& paths) {
  std::vector<RunView> runs;
  for (const std::string& path : paths) {
    read_history(path);  // throws InputError, with the reason, if it cannot be read
    runs.push_back(view_run(path));
  }
  return runs;
}

int report_command(const ReportArguments& arguments) {
  if (arguments.runs.size() == 1 && arguments.out.empty() && assistant::is_assistant(arguments.runs.front())) {
    print_result(write_assistant_report(arguments.runs.front(), assistant::read_plan(arguments.runs.front())).string() + '\n');
    flush_results();
    return 0;
  }
  const fs::path out = !arguments.out.empty()       ? fs::path(arguments.out)
                       : arguments.runs.size() == 1 ? fs::path(arguments.runs.front()) / "report.html"
                                                    : fs::path("report.html");
  const std::vector<RunView> runs = views_of(arguments.runs);
  write_page(out, report_page(runs));
  print_result(out.string() + '\n');
  flush_results();
  return 0;
}

}  // namespace

void add_report(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat report runs/mine                               # writes runs/mine/report.html
  dikkat report runs/mine runs/other --out compare.html
  dikkat report runs/assistant                          # all stages of `dikkat assistant`
The page shows curves, samples, configuration, origin and checkpoints, and for several runs also
their differences. The runs may still be training.)";
  const auto a = std::make_shared<ReportArguments>();
  Command command =
      program.add("report", "Write a page about one or several runs, for a browser", kExamples, [a] { return report_command(*a); });
  command.texts("RUN_DIR", a->runs, "", "Run directories to show").required();
  command.text("--out", a->out, "FILE.html", "Page to write; by default RUN_DIR/report.html, or report.html for several runs");
}

}  // namespace dikkat
