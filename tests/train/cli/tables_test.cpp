#include "tests/train/cli/workspace.h"

// Tables (CSV) wherever commands take JSONL: the same runs, and errors that name the row.
namespace dikkat::testing {
namespace {

class Tables : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    here_ = std::make_unique<Workspace>();
    here_->train("base", {"tokenizer.kind=bpe", "tokenizer.vocab_size=300", "model.block_size=32", "train.max_steps=2"});
    std::string lines, table = "id;Frage;Antwort\r\n", usual = "question,answer\n";
    for (int i = 0; i < 12; ++i) {
      const std::string number = std::to_string(i), prompt = "the \"lamp\"; " + number, answer = "turns\nby, " + number;
      lines += Json{{"prompt", prompt}, {"completion", answer}}.dump() + '\n';
      table += number + ";\"the \"\"lamp\"\"; " + number + "\";\"" + answer + "\"\r\n";
      usual += "\"the \"\"lamp\"\"; " + number + "\",\"" + answer + "\"\n";
    }
    here_->write("lines.jsonl", lines);
    here_->write("table.csv", table);
    here_->write("usual.csv", usual);
  }
  static void TearDownTestSuite() { here_.reset(); }

  static Outcome tune(const std::string& out, const Words& more) {
    return here_->run(with({"finetune", "base", "--out", out, "--set", "train.max_steps=2", "train.eval_interval=1"}, more));
  }
  static const Workspace& here() { return *here_; }

 private:
  static inline std::unique_ptr<Workspace> here_;
};

const Words kOwn = {"--columns", "prompt=Frage,completion=Antwort"};

TEST_F(Tables, GiveTheRunOfTheirJsonl) {
  ASSERT_EQ(tune("of-lines", {"--data", "lines.jsonl"}).code, 0);
  const Outcome own = tune("of-table", with({"--data", "table.csv"}, kOwn)), usual = tune("of-usual", {"--data", "usual.csv"});
  ASSERT_EQ(own.code, 0) << own.err;
  ASSERT_EQ(usual.code, 0) << usual.err;
  expect_named(own.err, {"prompt=Frage,completion=Antwort"});
  expect_named(usual.err, {"prompt=question,completion=answer"});
  EXPECT_EQ(here().timeless_metrics("of-table"), here().timeless_metrics("of-lines"));
  EXPECT_EQ(here().timeless_metrics("of-usual"), here().timeless_metrics("of-lines"));
  // The configuration has the columns, and a resumed run reads them again.
  EXPECT_TRUE(contains(contents(here() / "of-table/config.toml"), "columns = [\"prompt=Frage\", \"completion=Antwort\"]"));
  for (const char* run : {"of-lines", "of-table", "of-usual"}) {
    const Outcome resumed = here().run({"resume", run, "--set", "train.max_steps=4"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(here().timeless_metrics(run), here().timeless_metrics("of-lines")) << run;
  }
  // Other tables are evaluated by columns of their own.
  const auto loss = [&](const Words& text) { return Json::parse(here().run(with({"eval", "of-table", "--json"}, text)).out)["loss"]; };
  const Json of_lines = loss({"--corpus", "lines.jsonl"});
  EXPECT_EQ(loss({"--corpus", "table.csv"}), of_lines);
  EXPECT_EQ(loss({"--corpus", "usual.csv", "--columns", "prompt=question,completion=answer"}), of_lines);
}

TEST_F(Tables, AreShownAndEncodedAsTheirJsonl) {
  const auto shown = [&](const Words& text) {
    Json shown = Json::parse(here().run(with({"corpus", "inspect", "--chat", "--tokenizer", "base", "--json"}, text)).out);
    EXPECT_EQ(shown["examples"][0]["place"].get<std::string>().ends_with("(line 2)"), text[0] != "lines.jsonl") << text[0];
    for (Json& example : shown["examples"]) {
      example.erase("place");
    }
    shown.erase("notes");
    return shown;
  };
  const Json of_lines = shown({"lines.jsonl"});
  EXPECT_EQ(of_lines["count"], 12);
  EXPECT_EQ(shown({"usual.csv"}), of_lines);
  EXPECT_EQ(shown(with({"table.csv"}, kOwn)), of_lines);
  here().write("texts.csv", "title,text\nx," + std::string(400, 'a') + "\n");
  here().write("bodies.csv", "title,body\nx," + std::string(400, 'a') + "\n");
  EXPECT_EQ(here().run({"tokenizer", "encode", "base", "--corpus", "bodies.csv", "--columns", "text=body"}).out,
            here().run({"tokenizer", "encode", "base", "--corpus", "texts.csv"}).out);
}

TEST_F(Tables, AreRefusedByRow) {
  const std::string good = "prompt,completion\nwho,\"I\nyou\"\n";
  here().write("few.csv", good + "one\n");
  here().write("open.csv", good + "one,\"two\nthree,four\n");
  here().write("latin.csv", good + "one,\xE9t\xE9\n");
  here().write("header.csv", "prompt,completion\n");
  here().write("nothing.csv", "");
  here().write("column.csv", "prompt\nwho\n");
  here().write("sheet.xlsx", std::string("PK\x03\x04\x14\0\0\0", 8));
  here().write("data.parquet", std::string("PAR1\x15\0\x15\x10PAR1", 12));
  for (const auto& [words, fragments] : {std::pair(Words{"few.csv"}, Words{"few.csv", "row 3 (line 4)", "1 field"}),
                                         {{"open.csv"}, {"open.csv", "row 3 (line 4)", "field 2"}},
                                         {{"latin.csv"}, {"latin.csv", "row 3 (line 4)", "byte 0", "UTF-8"}},
                                         {{"header.csv"}, {"header.csv"}},
                                         {{"nothing.csv"}, {"nothing.csv", "empty"}},
                                         {{"column.csv"}, {"column.csv", "\"prompt\"", "--columns"}},
                                         {{"sheet.xlsx"}, {"sheet.xlsx", "CSV"}},
                                         {{"data.parquet"}, {"data.parquet", "import pandas"}},
                                         {{"table.csv"}, {"table.csv", "\"Frage\"", "--columns"}},
                                         {{"table.csv", "--columns", "prompt=x,completion=Antwort"}, {"table.csv", "\"x\"", "\"Frage\""}},
                                         {{"table.csv", "--columns", "prompt"}, {"data.columns", "\"prompt\""}},
                                         {{"table.csv", "--columns", "prompt=Frage"}, {"table.csv", "row 2", "\"prompt\""}},
                                         {{"table.csv", "--columns", "prompt=Frage,completion=Frage"}, {"data.columns", "Frage"}}}) {
    expect_refused(here(), with({"finetune", "base", "--out", "no", "--data"}, words), fragments);
  }
  expect_refused(here(), with({"eval", "base"}, kOwn), {"--columns", "--corpus"});
}

}  // namespace
}  // namespace dikkat::testing
