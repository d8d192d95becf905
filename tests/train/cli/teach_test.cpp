#include <filesystem>

#include "autograd/base/error.h"
#include "tests/train/cli/workspace.h"

// dikkat teach, and students that learn from its file.
namespace dikkat::testing {
namespace {

Words teach(const std::string& out, const Words& more = {}) {
  Words words = {"teach", "teacher", "--data", "text.txt", "--out", out, "--top", "8", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string hash_of_file(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? Json::parse(outcome.out)["hash"].get<std::string>() : "";
}

TEST(Teach, StudentsLearnFromItsFile) {
  const Workspace here;
  here.train("teacher", {"model.n_embd=32"});
  const Outcome taught = here.run(teach("taught", {"--temperature", "2"}));
  const std::string hash = hash_of_file(taught);
  const Json result = Json::parse(taught.out);
  EXPECT_EQ(result["temperatures"], Json({1.0, 2.0}));
  EXPECT_EQ(result["share_before"], 0);
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(here / "taught")) {
    bytes += file.path().filename() == ".lock" ? 0 : std::filesystem::file_size(file);
  }
  EXPECT_EQ(result["bytes"], bytes) << "the plan is exact";
  expect_named(taught.err, {" 8 ", " 40 bytes", "taught"});  // the plan: a record has 8 ids and log-probabilities, and 2 tails
  // The student's model does not matter, and the same again does nothing.
  const Outcome again = here.run(teach("taught", {"--temperature", "2", "--config", "tiny.toml"}));
  EXPECT_EQ(hash_of_file(again), hash);
  EXPECT_EQ(Json::parse(again.out)["share_before"], 1);
  EXPECT_EQ(
      hash_of_file(here.run({"teach", "teacher/", "--data", "text.txt", "--out", "taught", "--top", "8", "--temperature", "2", "--json"})),
      hash)
      << "a slash at the end does not change the teacher's name";
  // A student, and what it refuses.
  const Words student = {"train", "--config", "tiny.toml", "--set", "tokenizer.kind=byte", "distill.temperature=2"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), student.begin(), student.end());
    return more;
  };
  EXPECT_EQ(here.run(with({"distill.file=taught", "--out", "student"})).code, 0);
  EXPECT_EQ(here.run({"resume", "student", "--set", "train.max_steps=22"}).code, 0);
  EXPECT_EQ(here.run({"eval", "student"}).code, 0);
  expect_refused(here, with({"distill.file=nowhere", "--out", "no"}), {"distill.file", "nowhere"});
  expect_refused(here, with({"distill.file=taught", "data.val_fraction=0.3", "--out", "no"}), {"distill.file", "taught"});
  expect_refused(here, with({"distill.file=taught", "train.label_smoothing=0.1", "--out", "no"}),
                 {"distill.file", "train.label_smoothing"});
  // Folders that hold something else, which is found after the plan.
  const auto before = here.tree();
  for (const auto& [out, fragment] : {std::pair("taught", "temperatures"), std::pair("teacher", "--out")}) {
    const Outcome refused = here.run(teach(out));
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.out, "");
    expect_named(refused.err, {concat("dikkat: ", out), fragment});
  }
  EXPECT_TRUE(here.tree() == before);
  expect_refused(here, teach("no", {"--temperature", "11"}), {"--temperature", "11"});
  expect_refused(here, teach("no", {"--stride", "25"}), {"--stride", "25"});
}

TEST(Teach, AKilledTeacherContinuesWithTheSameBytes) {
  const Workspace here;
  here.train("teacher", {"model.n_embd=32"});
  here.write("text.txt", tiny_text(40'000));
  const std::string whole = hash_of_file(here.run(teach("whole")));
  for (const int parts : {1, 2}) {
    Program program(here.here(teach("killed")));
    ASSERT_TRUE(program.until([&] { return std::filesystem::exists(here / concat("killed/part-0000", parts - 1, ".bin")); }));
    program.send(SIGKILL);
    program.wait();
  }
  EXPECT_EQ(hash_of_file(here.run(teach("killed"))), whole);
}

}  // namespace
}  // namespace dikkat::testing
