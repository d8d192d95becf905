// Fuzzes reports, tables and TensorBoard files of a metrics.jsonl that anyone may have written. It is never refused.

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz.h"
#include "train/metrics/csv.h"
#include "train/metrics/tensorboard.h"
#include "train/web/report/page_data.h"

namespace dikkat {
namespace {

/// A folder for one run, removed at the end of the process.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / concat("dikkat-fuzz-history-", static_cast<long>(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

void write(const std::filesystem::path& file, std::string_view text, std::ios::openmode mode) {
  std::ofstream out(file, std::ios::binary | mode);
  out << text;
  fuzz::hold(out.flush().good(), "the folder takes files");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::filesystem::path file = folder.path / "metrics.jsonl";
  std::string_view input = fuzz::text_of(data, size);
  const std::size_t first = std::min<std::size_t>(input.size(), 8 * fuzz::choice(input, 256));

  HistoryReader growing(folder.path);
  write(file, input.substr(0, std::min(first, input.size())), std::ios::trunc);
  growing.update();
  write(file, input.substr(std::min(first, input.size())), std::ios::app);
  growing.update();
  HistoryReader whole(folder.path);
  whole.update();

  const std::string table = to_csv(whole.history());
  fuzz::hold(to_csv(growing.history()) == table, "a file that grows gives what the whole file gives");
  fuzz::hold(
      static_cast<std::size_t>(std::ranges::count(table, '\n')) <= 1 + whole.history().steps.size() + whole.history().evaluations.size(),
      "a table has a row for a step");
  to_tensorboard(whole.history());
  RunView run{.path = folder.path, .name = "run", .history = whole.history()};
  const std::string page = report_data({run, std::move(run)}, false);
  fuzz::hold(nlohmann::json::accept(page), "the page's data are JSON");
  return 0;
}

}  // namespace dikkat
