#include "train/metrics/metrics_log.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

/// The lines of a file, without times.
std::vector<std::string> timeless_lines(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line.substr(0, line.find(",\"ms\":")));
  }
  return lines;
}

TEST(MetricsLog, a_line_that_was_cut_off_by_a_full_disk_spoils_no_other) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "metrics.jsonl";
  MetricsLog log(file, 0);
  log.write(StepReport{.step = 1, .loss = 2, .seconds = 1});
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = std::filesystem::file_size(file) + 10;
  ::setrlimit(RLIMIT_FSIZE, &low);
  EXPECT_THROW(log.write(StepReport{.step = 2, .loss = 2, .seconds = 1}), Error);
  EXPECT_THROW(log.write(StepReport{.step = 3, .loss = 2, .seconds = 1}), Error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  log.write(StepReport{.step = 4, .loss = 2, .seconds = 1});
  log.write(StepReport{.step = 5, .loss = 2, .seconds = 1});

  const MetricsLog again(file, 5);  // lines that cannot be read are dropped
  const std::vector<std::string> lines = timeless_lines(file);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("\"step\":1,"), std::string::npos);
  EXPECT_NE(lines[1].find("\"step\":4,"), std::string::npos);
  EXPECT_NE(lines[2].find("\"step\":5,"), std::string::npos);
}

TEST(MetricsLog, a_step_is_logged_in_full) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl", 0);
  log.write(StepReport{.step = 3, .loss = 2.5, .gradient_norm = 0.5, .learning_rate = 0.25, .skipped = true, .tokens = 7, .seconds = 1});
  EXPECT_EQ(timeless_lines(folder / "metrics.jsonl"),
            std::vector<std::string>{R"({"event":"step","step":3,"loss":2.5,"grad_norm":0.5,"learning_rate":0.25,"skipped":1,"tokens":7)"});
}

TEST(MetricsLog, a_file_that_cannot_be_read_is_refused_and_not_changed) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "metrics.jsonl";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THROW(MetricsLog(file, 0), Error) << "a pipe without a writer would block";
  for (const char* target : {"/dev/zero", "metrics.jsonl"}) {  // an endless file, and a link to itself
    std::filesystem::remove(file);
    std::filesystem::create_symlink(target, file);
    EXPECT_THROW(MetricsLog(file, 0), Error) << target;
  }
}

}  // namespace
}  // namespace dikkat
