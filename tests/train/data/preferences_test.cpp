#include "train/data/examples/preferences.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

// Files of examples for preference tuning.
namespace dikkat {
namespace {

TEST(Preferences, KeepTheLastJudgmentOfAnAnswer) {
  const TemporaryFolder folder;
  // The time and the model are not part of an answer; its prompt is. A line that is not learned judges nothing.
  folder.write("a.jsonl", R"({"prompt": "hi", "completion": "yes", "label": true, "time": 1}
{"prompt": "hi", "completion": "no", "label": true, "time": 2}
{"prompt": "ho", "completion": "yes", "label": true, "time": 3}
{"prompt": [{"role": "user", "content": "hi"}], "completion": [{"role": "assistant", "content": "yes"}], "label": true, "model": "m"}
)");
  folder.write("b.jsonl", R"({"prompt": "hi", "completion": "yes", "label": false, "time": 9}
{"prompt": "hi", "completion": "no", "label": false, "weight": 0}
{"prompt": [{"role": "system", "content": "hi"}, {"role": "user", "content": "hi"}], "completion": "yes", "label": true}
)");
  const std::vector<std::string> paths = {folder.path("a.jsonl"), folder.path("b.jsonl")};
  const PreferenceCorpus corpus = read_preferences(paths);
  std::vector<bool> learned;
  for (const Preference& example : corpus.examples) {
    learned.push_back(example.chosen.learn);
  }
  EXPECT_EQ(learned, (std::vector<bool>{true, true, true, false, false, false, true}));
  EXPECT_EQ(corpus.examples[0].good, false);
  EXPECT_EQ(corpus.examples[1].good, true);
  EXPECT_EQ(corpus.found.judged_again, 2);
  EXPECT_EQ(corpus.found.left_out, 1);
  EXPECT_EQ(corpus.documents.size(), 7U) << "all lines belong to the fingerprint";
}

TEST(Preferences, KeepPairsThatOccurTwice) {
  const TemporaryFolder folder;
  const std::string line = R"({"prompt": "hi", "chosen": "yes", "rejected": "no"})";
  folder.write("a.jsonl", line + '\n' + line + '\n');
  const std::vector<std::string> paths = {folder.path("a.jsonl")};
  const PreferenceCorpus corpus = read_preferences(paths);
  EXPECT_TRUE(corpus.examples[0].chosen.learn && corpus.examples[1].chosen.learn);
  EXPECT_EQ(corpus.found.judged_again, 0);
}

}  // namespace
}  // namespace dikkat
