// The recipe for a task with a known answer, as its file promises: unseen sequences are reversed, 99 of 100 without a fault.
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/train/cli/workspace.h"

namespace dikkat::testing {
namespace {

TEST(Reversal, TurnsUnseenSequencesAround) {
  const Workspace here;
  const std::string root = DIKKAT_SOURCE_DIR;
  ASSERT_EQ(std::system((root + "/scripts/reversal-pairs.sh 20000 1 > " + (here / "reversal.tsv").string()).c_str()), 0);
  const Outcome trained = here.run({"train", "--config", root + "/configs/reversal.toml", "--corpus", "reversal.tsv", "--out", "run"},
                                   {.patience = std::chrono::minutes(9)});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json eval = Json::parse(here.run({"eval", "run", "--exact-match", "--json"}).out);
  EXPECT_EQ(eval["pairs"], 500);
  EXPECT_GE(eval["exact_match"], 0.99);
  EXPECT_EQ(here.run({"sample", "run", "--prompt", "a b c d e f g h i j"}).out, "j i h g f e d c b a\n");
}

}  // namespace
}  // namespace dikkat::testing
