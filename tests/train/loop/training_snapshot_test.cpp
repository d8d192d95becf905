#include "train/loop/training_snapshot.h"

#include "tests/train/loop/tiny_run.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/checkpoint/save.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

TEST(ConfigOf, LeavesOutWhatEarlierProgramsTookAndDidNotUse) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_pairs());
  const auto run = folder / "run";
  TrainingEvents quiet;
  Trainer::start(tiny_pairs_config(folder / "corpus.txt"), run).run(quiet, after(1));
  const CheckpointFile checkpoint = open_checkpoint(run, Pick::newest);
  Snapshot old;
  old.state = checkpoint.state();
  old.tokenizer = checkpoint.tokenizer();
  old.config = checkpoint.config();
  const std::string none = "validation = []";
  ASSERT_NE(old.config.find(none), std::string::npos);
  old.config.replace(old.config.find(none), none.size(), "validation = [\"/more.txt\"]");
  const SavedCheckpoint saved = save_checkpoint(folder.path(), old);
  const Config config = config_of(CheckpointFile::open(saved.path()));
  EXPECT_TRUE(config.data.validation.empty());
  EXPECT_NO_THROW(validate(config));
}

}  // namespace
}  // namespace dikkat
