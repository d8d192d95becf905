#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/train/loop/tiny_run.h"
#include "train/checkpoint/load.h"
#include "train/checkpoint/save.h"
#include "train/loop/build_info.h"
#include "train/loop/trainer.h"

namespace dikkat {
namespace {

/// Writes the newest checkpoint again, as kernels of another instruction set would have.
void give_instruction_set(const std::filesystem::path& run, const std::string& name) {
  const std::filesystem::path path = list_checkpoints(run).back().path;
  const CheckpointFile file = open_checkpoint(run);
  Snapshot snapshot{.state = file.state(), .config = file.config(), .tokenizer = file.tokenizer(), .tensors = {}};
  snapshot.state.instruction_set = name;
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

TEST(Resume, AnotherInstructionSetIsToldAndRecorded) {
  const TemporaryFolder folder;
  folder.write("corpus.txt", tiny_text());
  TrainingEvents quiet;
  {
    Trainer trainer = Trainer::start(tiny_config(folder / "corpus.txt"), folder / "run");
    trainer.run(quiet, [&] { return trainer.state().step >= 3; });
  }
  give_instruction_set(folder / "run", "of another machine");
  Trainer resumed = Trainer::resume(folder / "run", {});
  const auto tells = [](const std::string& remark) {
    return remark.find("of another machine") != std::string::npos && remark.find("other bits") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(resumed.remarks(), tells));
  EXPECT_EQ(resumed.run(quiet, [] { return false; }), Trainer::Outcome::finished);
  EXPECT_EQ(open_checkpoint(folder / "run").state().instruction_set, build_info().instruction_set);
}

}  // namespace
}  // namespace dikkat
