#include "train/assistant/stages.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"

namespace dikkat::assistant {
namespace {

/// Records what it is asked to do, and is stopped.
class StoppedRunner : public StageRunner {
 public:
  std::vector<StageRun> runs{};
  std::vector<std::string> asked{};
  bool answers = true;

  bool train(const StageRun& run, const std::filesystem::path&) override {
    runs.push_back(run);
    return false;
  }
  bool resume(const std::filesystem::path&) override { return false; }
  std::optional<std::string> ask(const std::filesystem::path& model, const std::filesystem::path&) override {
    asked.push_back(model.string());
    return answers ? std::optional<std::string>(R"({"choices":{"right":1}})") : std::nullopt;
  }
};

class Recorder : public Events {
 public:
  std::vector<std::string> said{};
  void begins(const Plan& plan) override { said.push_back(plan.table); }
  void stage_begins(const Plan& plan, std::size_t stage) override { said.emplace_back(name_of(plan.stages[stage].kind)); }
};

class AssistantStages : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string chats;
    for (int i = 0; i < 40; ++i) {
      chats += concat(R"({"prompt": "What is )", i, R"(?", "completion": "It is )", i, ".\"}\n");
    }
    std::filesystem::create_directories(home);
    Plan plan{.wishes = {.chats = folder.write("own.jsonl", chats), .from = "/model", .seconds = 60},
              .table = "a table",
              .tasks = kTasks,
              .longest_question = 200};
    plan.stages = {{.kind = StageKind::chats,
                    .corpus = {kLearnedChats},
                    .edits = {{"data.validation", std::vector<std::string>{kHeldOutChats}}, {"train.max_steps", index{20}}},
                    .steps = 20}};
    write_plan(home, plan);
  }
  bool run() { return Stages(home).run(runner, events, {}); }

  const TemporaryFolder folder;
  const std::filesystem::path home = folder / "[a, b]";  // is one path, and not a list
  StoppedRunner runner{};
  Recorder events{};
};

TEST_F(AssistantStages, RunsHaveTheFilesOfTheirFolder) {
  EXPECT_FALSE(run());
  EXPECT_EQ(events.said, (std::vector<std::string>{"a table", "chats"}));
  for (const char* name : {kLearnedChats, kHeldOutChats, kTasks}) {
    EXPECT_TRUE(std::filesystem::exists(home / name)) << name;
  }
  EXPECT_EQ(runner.asked, std::vector<std::string>{"/model"}) << "before the first stage";
  ASSERT_EQ(runner.runs.size(), 1);
  const StageRun& run = runner.runs[0];
  EXPECT_EQ(run.init_from, "/model");
  EXPECT_EQ(run.corpus, std::vector<std::string>{(home / kLearnedChats).string()});
  Config config;
  for (const ConfigEdit& edit : run.edits) {
    edit.apply(config);
  }
  EXPECT_EQ(config.data.validation, std::vector<std::string>{(home / kHeldOutChats).string()});
  EXPECT_EQ(config.train.max_steps, 20);
  const Plan plan = read_plan(home);
  EXPECT_FALSE(plan.stages[0].done);
  EXPECT_EQ(plan.before, R"({"choices":{"right":1}})");
}

TEST_F(AssistantStages, AStopWhileAskingLeavesThePlan) {
  runner.answers = false;
  EXPECT_FALSE(run());
  EXPECT_TRUE(runner.runs.empty());
  EXPECT_EQ(read_plan(home).before, "");
}

TEST_F(AssistantStages, OneProcessRunsThem) {
  const Stages others(home);
  EXPECT_THROW(run(), InputError);
}

}  // namespace
}  // namespace dikkat::assistant
