#include "tests/train/cli/workspace.h"

// `eval --tasks` with samples of lm_eval. tests/golden/make_samples_fixture.py computed the numbers as lm_eval does, without dikkat.
namespace dikkat::testing {
namespace {

const std::string kSamples = DIKKAT_SOURCE_DIR "/tests/golden/samples/";

class Tasks : public ::testing::Test {
 protected:
  Json eval(const Words& more) const {
    Words words = {"eval", kSamples + "a", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = here.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  /// Expects every number of `expected` in `found`.
  static void expect_numbers(const Json& found, const Json& expected) {
    const Json flat = expected.flatten(), found_flat = found.flatten();
    for (const auto& [path, number] : flat.items()) {
      ASSERT_TRUE(found_flat.contains(path)) << path << " is missing in " << found;
      EXPECT_NEAR(found_flat[path].get<double>(), number.get<double>(), 1e-12) << path;
    }
  }

  Workspace here;
  const Json expected = Json::parse(contents(kSamples + "expected.json"));
};

TEST_F(Tasks, SamplesAreScoredAsLmEvalDoes) {
  for (const auto& [file, scores] : expected.items()) {
    SCOPED_TRACE(file);
    const Json found = eval({"--tasks", kSamples + file, "--beside", kSamples + "b"});
    expect_numbers(found, scores["a"]);
    expect_numbers(found["beside"], scores["b"]);
    expect_numbers(found["difference"], scores["difference"]);
    EXPECT_EQ(found.contains("acc_norm"), scores["a"].contains("acc_norm"));
    expect_numbers(eval({"--tasks", kSamples + file, "--add-bos"}), scores["begin"]);
  }
}

TEST_F(Tasks, TablesHaveTheNumbers) {
  const Json& scores = expected["samples_choices.jsonl"];
  const Outcome outcome = here.run({"eval", kSamples + "a", "--tasks", kSamples + "samples_choices.jsonl", "--beside", kSamples + "b"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const Json* part : {&scores["a"], &scores["b"], &scores["difference"]}) {
    const Json flat = part->flatten();
    for (const auto& [path, number] : flat.items()) {
      std::ostringstream text;
      if (number.is_number_integer()) {
        text << number;
      } else {
        text << std::fixed << std::setprecision(4) << number.get<double>();
      }
      EXPECT_TRUE(contains(outcome.out, text.str())) << path << ' ' << text.str() << '\n' << outcome.out;
    }
  }
}

TEST_F(Tasks, AQuestionThatIsTooLongForTheOtherModelIsRefusedBeforeAnyIsAsked) {
  here.train("short", {"model.block_size=8"});
  here.write("tasks.jsonl", R"({"prompt": "a", "choices": ["b", "c"], "answer": 1}
{"prompt": "the lamp turns", "choices": ["b", "c"], "answer": 1})");
  const Outcome refused = here.run({"eval", kSamples + "a", "--tasks", "tasks.jsonl", "--beside", "short"});
  EXPECT_EQ(refused.code, 2);
  expect_named(refused.err, {"short", "question 2", "expected at most 9"});
  EXPECT_FALSE(contains(refused.err, "asking")) << refused.err;
}

TEST_F(Tasks, BadFilesAreRefusedByLine) {
  const std::string sample = R"({"doc_id": 0, "target": "1", "arguments": [["a", " b"], ["a", " c"]]})";
  const std::string question = R"({"prompt": "a", "choices": ["b", "c"], "answer": 1})";
  const auto refused = [&](const std::string& text, Words fragments, const Words& more = {}) {
    here.write("tasks.jsonl", text);
    Words words = {"eval", kSamples + "a", "--tasks", "tasks.jsonl"};
    words.insert(words.end(), more.begin(), more.end());
    fragments.emplace_back("tasks.jsonl");
    expect_refused(here, words, fragments);
  };
  refused("", {"no questions"});
  refused("\n \n", {"no questions"});
  refused(sample + "\n\n" + question, {"line 3"});
  refused(question + "\n" + sample, {"line 2", "lm_eval"});
  refused(sample + "\n" + R"({"doc_id": 1, "target": "1", "resps": []})", {"line 2", "\"arguments\""});
  refused(R"({"doc_id": 0, "target": "2", "arguments": [["a", " b"], ["a", " c"]]})", {"line 1", "\"target\"", "1"});
  refused(R"({"doc_id": 0, "target": "2", "arguments": [["a", {"until": ["\n"]}]]})", {"line 1", "generate_until"});
  refused(R"({"prompt": "a", "refuse": "yes"})", {"line 1", "\"refuse\"", "true"}, {"--refusal", "no"});
  refused(R"({"prompt": "a", "refuse": true, "choices": ["b", "c"], "answer": 0})", {"line 1", "\"choices\""}, {"--refusal", "no"});
  refused(question + "\n" + R"({"prompt": "a", "refuse": true})", {"line 2", "--refusal"});
  refused(question, {"--refusal", "\"refuse\""}, {"--refusal", "no"});
  refused(question, {"line 1", "--add-bos"}, {"--add-bos"});
  expect_refused(here, {"eval", kSamples + "a", "--tasks", "tasks.jsonl", "--refusal", ""}, {"--refusal", "empty"});
  for (const Words& option : {Words{"--beside", kSamples + "b"}, {"--refusal", "no"}, {"--add-bos"}}) {
    expect_refused(here, {"eval", kSamples + "a", option[0], option.size() > 1 ? option[1] : "--json"}, {option[0], "--tasks"});
  }
  here.write("tasks.jsonl", sample);
  expect_refused(here, {"eval", kSamples + "a", "--tasks", "tasks.jsonl", "--beside", "missing"}, {"missing"});
}

}  // namespace
}  // namespace dikkat::testing
