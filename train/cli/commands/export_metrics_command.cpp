#include <memory>

#include "autograd/base/error.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/streams.h"
#include "train/metrics/csv.h"
#include "train/metrics/run_history.h"
#include "train/metrics/tensorboard.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

struct ExportMetricsArguments {
  std::string run;
  std::string tensorboard;  // a folder
  std::string csv;          // a file
};

int export_metrics_command(const ExportMetricsArguments& arguments) {
  require_input(!arguments.tensorboard.empty() || !arguments.csv.empty(),
                "nothing to write: give --tensorboard FOLDER, --csv FILE or both");
  const RunHistory history = read_history(arguments.run);
  if (!arguments.csv.empty()) {
    require_input(arguments.csv.ends_with(".csv"), arguments.csv, ": expected a name that ends with .csv");
    replace_file(arguments.csv, to_csv(history));
    print_result(arguments.csv + '\n');
  }
  if (!arguments.tensorboard.empty()) {
    std::error_code failed;
    fs::create_directories(arguments.tensorboard, failed);
    require_path(failed.value(), arguments.tensorboard, " cannot be created");
    const fs::path file =
        fs::path(arguments.tensorboard) / "events.out.tfevents.dikkat";  // always the same name, so that curves are not drawn twice
    replace_file(file, to_tensorboard(history));
    print_result(file.string() + '\n');
  }
  flush_results();
  return 0;
}

}  // namespace

void add_export_metrics(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat export-metrics runs/mine --csv mine.csv
  dikkat export-metrics runs/mine --tensorboard boards/mine     # then: tensorboard --logdir boards
A run that was stopped and resumed gives a single curve. docs/METRICS.md describes metrics.jsonl
itself.)";
  const auto a = std::make_shared<ExportMetricsArguments>();
  Command command = program.add("export-metrics", "Write a run's metrics for TensorBoard or as a CSV table", kExamples,
                                [a] { return export_metrics_command(*a); });
  command.text("RUN_DIR", a->run, "", "A run directory").required();
  command.text("--tensorboard", a->tensorboard, "FOLDER", "Folder for a TensorBoard event file, which is replaced if it exists");
  command.text("--csv", a->csv, "FILE.csv", "Table to write with a row for each step; replaced if it exists");
}

}  // namespace dikkat
