#include <memory>

#include "autograd/base/error.h"
#include "train/cli/commands.h"
#include "train/cli/streams.h"
#include "train/io/file.h"
#include "train/report/page_data.h"

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
    read_history(path);  // says what is wrong with it
    runs.push_back(view_run(path));
  }
  return runs;
}

/// A file that is there is replaced only if it is a report.
void require_replaceable(const fs::path& out) {
  if (!is_there(out)) {
    return;
  }
  constexpr std::string_view kBegin = "<!doctype html>\n<html lang=\"en\">";
  std::string begin(kBegin.size(), '\0');
  const int error = [&] {
    const File file = File::open_regular(out);
    return file.read(0, std::as_writable_bytes(std::span(begin)));
  }();
  require_input(error == 0 && begin == kBegin, out.string(), " is there already, and is not a report: choose another --out");
}

int report_command(const ReportArguments& arguments) {
  const fs::path out = !arguments.out.empty()         ? fs::path(arguments.out)
                       : arguments.runs.size() == 1 ? fs::path(arguments.runs.front()) / "report.html"
                                                    : fs::path("report.html");
  const std::vector<RunView> runs = views_of(arguments.runs);
  require_replaceable(out);
  replace_file(out, report_page(runs));
  tell("Open it in a browser; it needs no network and no other file.");
  put(out.string() + '\n');
  flush_results();
  return 0;
}

}  // namespace

void add_report(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat report runs/mine                               # writes runs/mine/report.html
  dikkat report runs/mine runs/other --out compare.html
The page shows curves, samples, configuration, origin and checkpoints; of several runs also what differs between them. A run that is
training may be looked at too.)";
  const auto a = std::make_shared<ReportArguments>();
  Command command = program.add("report", "Write a page with the curves of one or several runs, for a browser", kExamples,
                                [a] { return report_command(*a); });
  command.texts("RUN_DIR", a->runs, "", "Run directories").required();
  command.text("--out", a->out, "FILE.html", "The page; by default RUN_DIR/report.html, or report.html for several runs");
}

}  // namespace dikkat
