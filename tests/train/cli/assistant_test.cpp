#include <regex>

#include "tests/train/cli/workspace.h"

// `dikkat assistant`. Its plan depends on the machine's speed, so tests shorten the stages of a plan and let the program run that.
namespace dikkat::testing {
namespace {

const Words kStages = {"pretrain", "chats", "preferences"};

/// A text, chats and pairs, and an assistant's plan for them in `folder`, with few steps.
class AssistantTest : public ::testing::Test {
 protected:
  void SetUp() override {
    here.write("text.txt", tiny_text(20'000));
    std::string chats, pairs;
    for (int i = 0; i < 40; ++i) {
      const std::string number = std::to_string(i);
      chats += Json{{"prompt", "What is lamp " + number + "?"}, {"completion", "It is ship " + number + "."}}.dump() + '\n';
      pairs += Json{{"prompt", "Is it " + number + "?"}, {"chosen", "Yes, " + number + "."}, {"rejected", "No."}}.dump() + '\n';
    }
    here.write("chats/some.jsonl", chats);
    here.write("pairs.jsonl", pairs);
  }

  Json plan(Words more = {}) const {
    Words arguments = {"assistant", "--plan",  "--json",      "--corpus", "text.txt", "--chats",
                       "chats",     "--pairs", "pairs.jsonl", "--time",   "300s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = here.run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }

  /// Returns the plan of the stages after pretraining.
  Json plan_from(const std::string& model) const {
    const Outcome outcome = here.run({"assistant", "--plan", "--json", "--from", model, "--chats", "chats", "--time", "300s"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }

  /// Returns the plan with this many steps in each stage.
  static Json shortened(Json plan, int steps) {
    for (Json& stage : plan["stages"]) {
      stage["steps"] = steps;
      stage["settings"].insert(stage["settings"].end(), {"train.max_steps=" + std::to_string(steps), "train.eval_interval=5",
                                                         "train.eval_tokens=512", "train.checkpoint_interval=2", "train.batch_size=2"});
    }
    return plan;
  }

  /// The bytes of the assistant's model.
  std::string model(const std::string& folder) const { return here.checkpoint(folder, 0); }

  const Workspace here;
};

TEST_F(AssistantTest, AKillInAnyStageDoesNotChangeTheModel) {
  const std::string plan_text = shortened(plan(), 12).dump();
  here.write("whole/assistant.json", plan_text);
  const Outcome whole = here.run({"assistant", "--out", "whole", "--json"});
  ASSERT_EQ(whole.code, 0) << whole.err;
  ASSERT_NE(model("whole"), "");

  here.write("killed/assistant.json", plan_text);
  for (const std::string& stage : kStages) {
    for (const long lines : {3, 9}) {
      Program program(here.here({"resume", "killed"}));
      ASSERT_TRUE(program.until([&] { return here.metric_lines("killed/" + stage) >= lines; })) << stage << ": " << program.err();
      here.write("pairs.jsonl", "changed");  // the folder has its own
      program.send(SIGKILL);
      EXPECT_EQ(program.wait().code, -SIGKILL);
      EXPECT_EQ(model("killed"), "");
    }
  }
  // Steps of starts that were killed count in the time of their stage.
  constexpr double kSeconds = 500;
  const std::string log = contents(here / "killed/preferences/metrics.jsonl");
  const std::size_t milliseconds = log.find("\"ms\":", log.find("\"event\":\"step\"")) + 5;
  here.write("killed/preferences/metrics.jsonl",
             log.substr(0, milliseconds) + std::to_string(1000 * kSeconds) + log.substr(log.find(',', milliseconds)));
  const Outcome resumed = here.run({"assistant", "--out", "killed"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_GT(Json::parse(contents(here / "killed/assistant.json"))["stages"][2]["took"], kSeconds);
  EXPECT_TRUE(model("killed") == model("whole")) << "the models differ";
  for (const std::string& stage : kStages) {
    EXPECT_NE(here.checkpoint("killed/" + stage, 12), "") << stage;
    EXPECT_EQ(here.timeless_metrics("killed/" + stage), here.timeless_metrics("whole/" + stage));
  }

  // The folder has the answers to questions after each stage, a report, and a model that other commands take.
  const Json result = Json::parse(whole.out, nullptr, false);
  ASSERT_EQ(result["stages"].size(), 3);
  for (const Json& stage : result["stages"]) {
    EXPECT_TRUE(stage["done"]);
    EXPECT_EQ(stage["tasks"]["choices"]["questions"], 4) << "every tenth of 40 conversations";
    EXPECT_EQ(stage["tasks"]["exact_match"]["questions"], 4);
  }
  EXPECT_EQ(result["stages"], Json::parse(contents(here / "whole/assistant.json"))["stages"]);
  expect_named(contents(here / "whole/report.md"), kStages);
  EXPECT_NE(contents(here / "whole/report.html"), "");
  EXPECT_EQ(here.run({"eval", "whole", "--tasks", "whole/tasks.jsonl"}).code, 0);
  EXPECT_EQ(here.run({"export", "whole", "--out", "whole.gguf"}).code, 0);
  const Outcome chat = here.run({"chat", "whole", "--max-new-tokens", "3"}, {.input = "hello\n"});
  EXPECT_EQ(chat.code, 0) << chat.err;

  // A finished assistant is left as it is, but its report may be written again.
  const auto time = std::filesystem::last_write_time(here / "whole/checkpoints/step-000000000.h5");
  std::filesystem::remove(here / "whole/report.html");
  EXPECT_EQ(here.run({"report", "whole"}).code, 0);
  EXPECT_NE(contents(here / "whole/report.html"), "");
  EXPECT_EQ(here.run({"resume", "whole"}).code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(here / "whole/checkpoints/step-000000000.h5"), time);

  // A damaged model is made again, from the last stage.
  const std::string saved = model("whole");
  here.write("whole/checkpoints/step-000000000.h5", saved.substr(0, 1000));
  EXPECT_EQ(here.run({"resume", "whole"}).code, 0);
  EXPECT_TRUE(model("whole") == saved);
  const Outcome planned = here.run({"assistant", "--out", "whole", "--plan", "--json"});
  EXPECT_EQ(Json::parse(planned.out, nullptr, false), result);

  // The later stages can begin with this model, or with another one.
  const Json later = plan_from("whole");
  here.write("later/assistant.json", shortened(later, 5).dump());
  const Outcome tuned = here.run({"assistant", "--out", "later", "--json"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Json tuned_result = Json::parse(tuned.out, nullptr, false);
  ASSERT_EQ(tuned_result["stages"].size(), 1);
  EXPECT_EQ(tuned_result["stages"][0]["name"], "chats");
  EXPECT_EQ(tuned_result["before"], result["stages"][2]["tasks"]) << "the questions are the same, and so is the model";
  EXPECT_NE(model("later"), "");

  // Options that would change the plan are refused by their names.
  expect_refused(here, {"assistant", "--out", "whole", "--time", "200s"}, {"--time", "200s"});
  expect_refused(here, {"assistant", "--out", "whole", "--name", "Ada"}, {"--name", "Ada"});
  expect_refused(here, {"assistant", "--out", "whole", "--corpus", "tiny.toml"}, {"--corpus", "tiny.toml"});
  expect_refused(here, {"assistant", "--out", "whole", "--chats", "pairs.jsonl"}, {"--chats", "pairs.jsonl"});
  expect_refused(here, {"assistant", "--out", "whole", "--pairs", "chats"}, {"--pairs", "chats"});
  expect_refused(here, {"assistant", "--out", "whole", "--from", "later"}, {"--from", "later"});
  expect_refused(here, {"resume", "whole", "--set", "train.max_steps=20"}, {"whole", "--set"});
}

TEST_F(AssistantTest, RefusesAForeignRunInPlaceOfAStage) {
  here.write("out/assistant.json", shortened(plan(), 4).dump());
  const std::string text = contents(here / "out/assistant.json");
  ASSERT_EQ(here.run({"assistant", "--out", "out"}).code, 0);
  here.train("foreign", {"train.max_steps=4"});
  const auto exchange = [&](const std::string& stage) {
    std::filesystem::rename(here / ("out/" + stage), here / "own");
    std::filesystem::copy(here / "foreign", here / ("out/" + stage), std::filesystem::copy_options::recursive);
  };
  for (const bool done : {true, false}) {  // of the plan
    if (!done) {
      here.write("out/assistant.json", text);
    }
    for (const std::string& stage : kStages) {
      exchange(stage);
      const Outcome refused = here.run({"resume", "out"});
      EXPECT_EQ(refused.code, 2) << stage << refused.err;
      expect_named(refused.err, {"out/" + stage, "assistant.json"});
      std::filesystem::remove_all(here / ("out/" + stage));
      std::filesystem::rename(here / "own", here / ("out/" + stage));
    }
  }
  EXPECT_EQ(here.run({"resume", "out"}).code, 0);
  // A folder that has been moved still has its own runs.
  std::filesystem::rename(here / "out", here / "moved");
  const Outcome moved = here.run({"resume", "moved"});
  EXPECT_EQ(moved.code, 0) << moved.err;
}

TEST_F(AssistantTest, ThePlanFillsTheTimeAndWritesNothing) {
  const auto before = here.tree();
  const Json planned = plan();
  EXPECT_TRUE(here.tree() == before);
  double seconds = 0;
  ASSERT_EQ(planned["stages"].size(), 3);
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    EXPECT_EQ(planned["stages"][i]["name"], kStages[i]);
    EXPECT_GT(planned["stages"][i]["steps"], 0);
    seconds += planned["stages"][i]["seconds"].get<double>();
  }
  EXPECT_GT(seconds, 200);
  EXPECT_LT(seconds, 300);
}

TEST_F(AssistantTest, OwnChatsHaveTheName) {
  const Outcome planned = here.run({"assistant", "--plan", "--json", "--corpus", "text.txt", "--time", "300s", "--name", "Ada \"L\""});
  ASSERT_EQ(planned.code, 0) << planned.err;
  const std::string out = "[a, b]";  // is one path, and not a list
  here.write(out + "/assistant.json", shortened(Json::parse(planned.out), 2).dump());
  const Outcome made = here.run({"assistant", "--out", out});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string chats = contents(here / (out + "/chats.jsonl"));
  EXPECT_TRUE(contains(chats, R"(My name is Ada \"L\".)"));
  EXPECT_FALSE(contains(chats, "{name}"));
  EXPECT_TRUE(contains(chats, "capital of Italy")) << "the questions of data/ belong to it";
}

TEST_F(AssistantTest, AsksOnlyWhatAContextHolds) {
  std::string chats;
  for (int i = 0; i < 60; ++i) {  // every tenth is held out: long questions with short answers, and the other way round
    const std::string number = std::to_string(i), many(180, 'a');
    const bool is_question = i % 20 == 9;
    chats +=
        Json{{"prompt", "What is " + number + (is_question ? many : "") + "?"}, {"completion", number + (is_question ? "" : many) + "."}}
            .dump() +
        '\n';
  }
  here.write("chats/some.jsonl", chats);
  here.write("out/assistant.json", shortened(plan(), 2).dump());
  const Outcome made = here.run({"assistant", "--out", "out", "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(Json::parse(made.out)["stages"][0]["tasks"]["exact_match"]["questions"], 6);
}

/// The reference model scores all pairs before the first step, so those that no step reads are left out.
TEST_F(AssistantTest, LearnsThePairsForWhichThereIsTime) {
  Json planned = shortened(plan(), 2);
  EXPECT_EQ(planned["learnt_pairs"], 40) << "there is time for all";
  planned["learnt_pairs"] = 10;
  here.write("out/assistant.json", planned.dump());
  const Outcome made = here.run({"assistant", "--out", "out"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string pairs = contents(here / "out/pairs.jsonl");
  EXPECT_EQ(std::ranges::count(pairs, '\n'), 10);
  EXPECT_TRUE(contains(pairs, "Is it 0?") && contains(pairs, "Is it 36?")) << "they are spread over the file";
}

/// Texts that occur twice are counted once: for the least text, the vocabulary, the model's size, and how often the text is read.
TEST_F(AssistantTest, CopiesOfTextsAreNotCounted) {
  const std::string text = tiny_text(4'000).substr(0, 14'000);
  here.write("short/a.txt", text.substr(0, 7'000));
  here.write("short/copy.txt", text.substr(0, 7'000));
  expect_refused(here, {"assistant", "--out", "new", "--corpus", "short", "--time", "60s"}, {"--corpus", "7,000"});
  here.write("short/b.txt", text.substr(7'000));
  /// Expects a plan with these words, and a warning that says how often the text is read. Returns the text's tokens, by the plan.
  const auto tokens_of = [&](const std::string& corpus, const Words& fragments) {
    const Outcome planned = here.run({"assistant", "--plan", "--json", "--corpus", corpus, "--time", "60s"});
    EXPECT_EQ(planned.code, 0) << planned.err;
    const Json plan = Json::parse(planned.out), stage = plan["stages"][0];
    const std::string table = plan["table"], before = "the text is read ";
    expect_named(table, fragments);
    std::string times = table.substr(table.find(before) + before.size());
    times.erase(times.find('\n'));
    expect_named(planned.err, {"will be read " + times});
    double tokens = stage["steps"];
    for (const std::string setting : stage["settings"]) {
      if (setting.starts_with("train.batch_size=") || setting.starts_with("model.block_size=")) {
        tokens *= std::stod(setting.substr(setting.find('=') + 1));
      }
    }
    return tokens / std::stod(times);
  };
  const double with_copies = tokens_of("short", {"14,000", "33 %"});
  std::filesystem::remove(here / "short/copy.txt");
  const double without = tokens_of("short", {"14,000"});
  EXPECT_NEAR(with_copies, without, 0.2 * without);
}

TEST_F(AssistantTest, RefusesWhatItCannotUse) {
  here.write("broken.jsonl", "{\"prompt\": \"a\", \"completion\": \"b\"}\n{\"prompt\": \"a\"}\n");
  here.write("short.txt", "A short text.");
  here.write("other/notes.txt", "not an assistant");
  std::filesystem::create_directories(here / "empty");
  const auto refused = [&](const Words& options, const Words& fragments) {
    Words arguments = {"assistant", "--out", "new"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const std::string said = expect_refused(here, arguments, fragments);
    // Keys may be named with their values, but the command has no --set. The field's name is advice for those who build their own run.
    EXPECT_FALSE(contains(said, "--set") ||
                 std::regex_search(said, std::regex(R"(\b(model|data|train|optim)\.[a-z_]+\b(?! = |, --text-field))")))
        << said;
  };
  refused({"--corpus", "text.txt"}, {"--time", "--preset"});
  refused({"--corpus", "text.txt", "--time", "60"}, {"--time", "60"});
  refused({"--corpus", "text.txt", "--time", "60s", "--preset", "tiny"}, {"--time", "--preset"});
  refused({"--corpus", "text.txt", "--preset", "huge"}, {"--preset", "huge", "student"});
  refused({"--time", "60s"}, {"--corpus", "--from"});
  refused({"--corpus", "text.txt", "--from", "text.txt", "--time", "60s"}, {"--corpus", "--from"});
  refused({"--corpus", "empty", "--time", "60s"}, {"empty"});
  refused({"--corpus", "short.txt", "--time", "60s"}, {"--corpus", "13"});
  refused({"--corpus", "missing", "--time", "60s"}, {"missing"});
  refused({"--corpus", "-", "--time", "60s"}, {"--corpus"});
  refused({"--corpus", "text.txt", "--chats", "broken.jsonl", "--time", "60s"}, {"broken.jsonl", "line 2"});
  refused({"--corpus", "text.txt", "--chats", "empty", "--time", "60s"}, {"empty"});
  refused({"--corpus", "text.txt", "--pairs", "broken.jsonl", "--time", "60s"}, {"--pairs", "broken.jsonl", "--chats"});
  refused({"--corpus", "text.txt", "--chats", "pairs.jsonl", "--time", "60s"}, {"--chats", "pairs.jsonl", "--pairs"});
  refused({"--corpus", "text.txt", "--name", "A\nB", "--time", "60s"}, {"--name"});
  // A file from which a later stage could not learn is refused before the first stage.
  here.write("equal.jsonl", R"({"prompt": "a", "chosen": "b", "rejected": "b"}
{"prompt": "c", "chosen": "d", "rejected": "d"}
)");
  here.write("one.jsonl", R"({"prompt": "a", "completion": "b"})");
  here.write("long.jsonl", Json{{"prompt", tiny_text(4'000)}, {"completion", "b"}}.dump() + "\n" +
                               Json{{"prompt", tiny_text(5'000)}, {"completion", "b"}}.dump() + "\n");
  refused({"--corpus", "text.txt", "--pairs", "equal.jsonl", "--time", "60s"}, {"--pairs", "equal.jsonl"});
  refused({"--corpus", "text.txt", "--chats", "one.jsonl", "--time", "60s"}, {"--chats", "one.jsonl"});
  refused({"--corpus", "text.txt", "--chats", "long.jsonl", "--time", "60s"}, {"--chats", "long.jsonl"});
  refused({"--corpus", "text.txt", "--time", "1s"}, {"--time"});
  refused({"--from", "missing", "--time", "60s"}, {"missing"});
  expect_refused(here, {"assistant", "--corpus", "text.txt", "--time", "60s", "--out", "other"}, {"other", "--out"});
  expect_refused(here, {"assistant", "--corpus", "text.txt", "--time", "60s"}, {"--out"});
}

}  // namespace
}  // namespace dikkat::testing
