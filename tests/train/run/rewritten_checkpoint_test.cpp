#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/train/run/tiny_run.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/save.h"
#include "train/run/build_info.h"
#include "train/run/trainer.h"

namespace dikkat {
namespace {

/// Trains a tiny run for three steps.
void begin_run(const TemporaryFolder& folder) {
  folder.write("corpus.txt", tiny_text());
  Trainer trainer = Trainer::start(tiny_config(folder / "corpus.txt"), folder / "run");
  TrainingEvents quiet;
  trainer.run(quiet, [&] { return trainer.state().step >= 3; });
}

/// Writes the newest checkpoint again, after `change` has changed its snapshot.
template <class Change>
void rewrite(const std::filesystem::path& run, Change&& change) {
  const std::filesystem::path path = list_checkpoints(run).back().path;
  const CheckpointFile file = open_checkpoint(run);
  Snapshot snapshot{.state = file.state(), .config = file.config(), .tokenizer = file.tokenizer(), .tensors = {}};
  change(snapshot);
  std::vector<std::vector<std::byte>> bytes;
  for (const StoredTensor& tensor : file.tensors()) {
    if (!tensor.path.starts_with("state/")) {
      bytes.emplace_back(static_cast<std::size_t>(tensor.bytes));
      file.read(tensor.path, tensor.type, tensor.shape, bytes.back().data());
      snapshot.tensors.push_back(
          {.path = tensor.path, .type = tensor.type, .shape = tensor.shape, .data = bytes.back().data(), .required = tensor.required});
    }
  }
  std::filesystem::remove(path);
  save_checkpoint(path.parent_path(), snapshot);
}

TEST(Resume, AnotherInstructionSetIsReportedAndRecorded) {
  const TemporaryFolder folder;
  begin_run(folder);
  rewrite(folder / "run", [](Snapshot& snapshot) { snapshot.state.instruction_set = "of another machine"; });
  Trainer resumed = Trainer::resume(folder / "run", {});
  const auto tells = [](const std::string& remark) {
    return remark.find("of another machine") != std::string::npos && remark.find("bits") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(resumed.remarks(), tells));
  TrainingEvents quiet;
  EXPECT_EQ(resumed.run(quiet, [] { return false; }), Trainer::Outcome::finished);
  EXPECT_EQ(open_checkpoint(folder / "run").state().instruction_set, build_info().instruction_set);
}

TEST(Resume, ARetiredKeyIsIgnoredAndReportedIfItHasAValue) {
  for (const std::string_view value : {"", "touch ran"}) {
    const TemporaryFolder folder;
    begin_run(folder);
    rewrite(folder / "run", [&](Snapshot& snapshot) {
      const std::string section = "[train]\n";
      const std::size_t at = snapshot.config.find(section);
      ASSERT_NE(at, std::string::npos);
      snapshot.config.insert(at + section.size(), concat("on_end = \"", value, "\"\n"));
    });
    Trainer resumed = Trainer::resume(folder / "run", {});
    const auto names_it = [](const std::string& remark) { return remark.find("train.on_end") != std::string::npos; };
    EXPECT_EQ(std::ranges::any_of(resumed.remarks(), names_it), !value.empty());
    TrainingEvents quiet;
    EXPECT_EQ(resumed.run(quiet, [] { return false; }), Trainer::Outcome::finished);
    EXPECT_EQ(std::string_view(open_checkpoint(folder / "run").config()).find("on_end"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace dikkat
