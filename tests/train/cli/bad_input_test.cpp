#include <sys/stat.h>

#include "tests/train/cli/workspace.h"

// What cannot be used is refused in one sentence, and changes nothing.
namespace dikkat::testing {
namespace {

struct Case {
  const char* name;
  Words arguments;
  Words words;  // that standard error has
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// "train", with the configuration and `rest`.
Words train(const Words& rest) {
  Words words = {"train", "--config", "tiny.toml", "--out", "new"};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}
Words set(const std::string& assignment) { return train({"--set", assignment}); }
/// `command` of the finished run, with `rest`.
Words of_run(const char* command, const Words& rest) {
  Words words = {command, "run"};
  words.insert(words.end(), rest.begin(), rest.end());
  return words;
}

const Case kCases[] = {
    {"MissingCorpus", train({"--corpus", "nowhere.txt"}), {"nowhere.txt does not exist", "expected a text file or a folder"}},
    {"EmptyCorpus", train({"--corpus", "empty.txt"}), {"empty.txt is empty", "expected text"}},
    {"BinaryCorpus", train({"--corpus", "binary.txt", "--set", "tokenizer.kind=char"}), {"binary.txt is not text", "NUL byte at byte 3"}},
    {"FolderWithoutText", train({"--corpus", "pictures"}), {"pictures contains no text", ".txt"}},
    {"CorpusThatIsAPipe", train({"--corpus", "pipe"}), {"pipe is a FIFO"}},
    {"CorpusThatIsADevice", train({"--corpus", "/dev/zero"}), {"/dev/zero is a device"}},
    {"CorpusGivenTwice", train({"--corpus", "text.txt", "./text.txt"}), {"text.txt is given twice"}},
    {"CorpusWithoutAName", train({"--corpus", ""}), {"--corpus: the value is empty"}},
    {"FewerTokensThanAWindow", train({"--corpus", "short.txt"}), {"tokens, expected at least 25", "model.block_size"}},
    {"InvalidUtf8",
     train({"--corpus", "latin.txt", "--set", "tokenizer.kind=char"}),
     {"latin.txt: byte 3060: not UTF-8: 0xE9", "iconv", "tokenizer.kind"}},

    {"MissingConfiguration", {"train", "--config", "no.toml"}, {"no.toml", "no such file", "expected a configuration"}},
    {"MisspeltRecipe", {"train", "--config", "quickstrat"}, {"did you mean quickstart?", "dikkat config list"}},
    {"UnknownRecipe", {"train", "--config", "gpt9"}, {"the name of one that comes with dikkat", "quickstart"}},
    {"ReportOfAFile", {"report", "text.txt"}, {"text.txt is a file, expected a run directory"}},
    {"ReportOfAFolder", {"report", "pictures"}, {"pictures has no metrics.jsonl, expected a run directory"}},
    {"ReportInPlaceOfAFolder", {"report", "run", "--out", "pictures"}, {"pictures is a folder, expected the name of a file"}},
    {"PageWhereNoFolderCanBe", {"eval", "run", "--html", "text.txt/a.html"}, {"text.txt cannot be created"}},
    {"RunInAFolderThatHasOthers",
     {"train", "--config", "tiny.toml", "--out", "pictures"},
     {"is not empty (it has cat.png): choose another --out\n"}},
    {"ModelInAFolder", {"sample", "pictures"}, {"pictures has no checkpoint, expected a run directory", "dikkat runs"}},
    {"ConfigurationThatIsAText", {"train", "--config", "text.txt"}, {"text.txt:1:", "not TOML"}},
    {"ConfigurationThatIsAFolder", {"train", "--config", "pictures"}, {"pictures", "is a folder"}},
    {"UnknownKey", set("model.n_layr=3"), {"unknown key model.n_layr", "did you mean model.n_layer?"}},
    {"UnknownKeyInTheFile",
     {"train", "--config", "unknown.toml"},
     {"unknown.toml:2:1: unknown key model.blocksize", "did you mean model.block_size?"}},
    {"WrongType", set("model.n_layer=many"), {"model.n_layer is \"many\"", "expected an integer"}},
    {"WrongTypeInTheFile",
     {"train", "--config", "quoted.toml"},
     {"quoted.toml:2:1: train.max_steps is the string \"100\"", "remove the quotes"}},
    {"OutOfRange", set("model.dropout=1.5"), {"model.dropout is 1.5", "below 1"}},
    {"NotANumber", set("optim.learning_rate=nan"), {"optim.learning_rate is \"nan\"", "expected a number"}},
    {"HeadsThatDoNotDivide", set("model.n_head=3"), {"n_embd is 16", "n_head = 3 does not divide"}},
    {"NameOfNanoGpt", set("train.max_iters=100"), {"max_iters is nanoGPT's name; here it is train.max_steps"}},
    {"NameOfHuggingFace", set("model.hidden_size=64"), {"hidden_size", "Hugging Face", "model.n_embd"}},
    {"SetWithoutAValue", set("train.max_steps"), {"expected section.key=value"}},
    {"VocabularyTooSmall", set("model.vocab_size=10"), {"model.vocab_size is 10, but the tokenizer has 256"}},

    {"OutHoldsARun", {"train", "--config", "tiny.toml", "--out", "run"}, {"run is not empty", "dikkat resume run"}},
    {"OutHoldsSomethingElse", {"train", "--config", "tiny.toml", "--out", "pictures"}, {"pictures is not empty (it has cat.png)"}},
    {"OutIsAFile", {"train", "--config", "tiny.toml", "--out", "text.txt"}, {"text.txt is a file", "choose another --out"}},
    {"OutBelowAFile", {"train", "--config", "tiny.toml", "--out", "text.txt/run"}, {"text.txt/run cannot be created: Not a directory"}},
    {"OutWithoutAName", {"train", "--config", "tiny.toml", "--out", ""}, {"--out: the value is empty"}},

    {"ResumeOfNothing", {"resume", "nowhere"}, {"nowhere does not exist", "directory of a run"}},
    {"ResumeOfAnotherFolder", {"resume", "pictures"}, {"pictures is not the directory of a run"}},
    {"ResumeOfAFile", {"resume", "run/checkpoints/step-000000004.h5"}, {"is not the directory of a run"}},
    {"ResumeWithAnotherModel", of_run("resume", {"--set", "model.n_layer=3"}), {"a run keeps its model.n_layer, which is 2"}},
    {"ResumeToAnEarlierStep", of_run("resume", {"--set", "train.max_steps=2"}), {"train.max_steps is 2, but the run is at step 4"}},
    {"ResumeWithAnotherText",
     of_run("resume", {"--set", "data.corpus=other.txt", "train.max_steps=8"}),
     {"the corpus has changed", "other.txt"}},

    {"EvalOfNothing", {"eval", "nowhere"}, {"nowhere: ", "Hugging Face"}},
    {"FinetuneOfNothing", {"finetune", "some-model", "--data", "text.txt"}, {"some-model: "}},
    {"TrainFromNothing", train({"--init-from", "some-model"}), {"some-model: "}},
    {"MissingGguf", {"sample", "model.gguf"}, {"model.gguf: "}},
    {"EvalOfAnotherFolder", {"eval", "pictures"}, {"pictures has no checkpoint"}},
    {"EvalOfAText", {"eval", "text.txt"}, {"text.txt is not a dikkat checkpoint"}},
    {"EvalOfAPipe", {"eval", "pipe"}, {"pipe is not a regular file"}},
    {"EvalOfADevice", {"eval", "/dev/zero"}, {"/dev/zero is not a regular file"}},
    {"EvalWithoutAName", {"eval", ""}, {"the value is empty"}},
    {"EvalWithAMissingText", of_run("eval", {"--corpus", "nowhere.txt"}), {"nowhere.txt does not exist"}},
    {"EvalWithAnUnknownCharacter", {"eval", "chars", "--corpus", "other.txt"}, {"other.txt: byte 4", "'X' is not among the", "vocabulary"}},
    {"InspectOfNothing", {"inspect", "nowhere"}, {"nowhere cannot be read"}},
    {"VerifyOfNothing", {"verify", "nowhere"}, {"nowhere cannot be read"}},
    {"VerifyOfAnotherFolder", {"verify", "pictures"}, {"pictures", "has no checkpoint"}},

    {"UnknownCharacterInThePrompt", {"sample", "chars", "--prompt", "the X"}, {"prompt: byte 4", "'X' is not among the", "vocabulary"}},
    {"InvalidUtf8InThePrompt", {"sample", "chars", "--prompt", "th\xff"}, {"prompt: byte 2: not UTF-8"}},
    {"EmptyPrompt", of_run("sample", {"--prompt", ""}), {"the prompt is empty"}},
    {"EmptyPromptOnInput", of_run("sample", {"--prompt", "-"}), {"the prompt is empty"}},
    {"NegativeTemperature", of_run("sample", {"--temperature", "-1"}), {"--temperature is -1, expected a number from 0 to 1000"}},
    {"TemperatureNan", of_run("sample", {"--temperature", "nan"}), {"--temperature is nan"}},
    {"TopKThatIsAWord", of_run("sample", {"--top-k", "x"}), {"--top-k is x, expected an integer from 0"}},
    {"TokensThatAreTooMany",
     of_run("sample", {"--max-new-tokens", "99999999999999999999"}),
     {"--max-new-tokens is 99999999999999999999, expected"}},
    {"NoSamples", of_run("sample", {"--num-samples", "0"}), {"--num-samples is 0, expected an integer from 1"}},
    {"NegativeSeed", of_run("sample", {"--seed", "-1"}), {"--seed is -1, expected an integer from 0"}},
    {"NoThreads", of_run("eval", {"--threads", "0"}), {"--threads is 0, expected an integer from 1"}},

    {"UnknownCommand", {"tarin", "--config", "tiny.toml"}, {"unknown command tarin; did you mean train?", "dikkat --help"}},
    {"FarFetchedCommand", {"paint"}, {"unknown command paint; the commands are train, finetune, resume"}},
    {"UnknownOption", train({"--copus", "text.txt"}), {"unknown option --copus; did you mean --corpus?", "dikkat train --help"}},
    {"OptionBeforeTheCommand",
     {"--set", "train.max_steps=3", "finetune", "run", "--data", "text.txt"},
     {"--set belongs after the command: dikkat finetune ... --set ...", "dikkat finetune --help"}},
    {"OptionOfAnInnerCommand",
     {"--vocab-size", "300", "tokenizer", "train"},
     {"--vocab-size belongs after the command: dikkat tokenizer train ... --vocab-size ..."}},
    {"OptionWithoutACommand", {"--temperature", "0.5"}, {"--temperature belongs after a command: dikkat sample ... --temperature ..."}},
    {"OptionOfNoCommand", {"--colour"}, {"unknown option --colour"}},
    {"KeyAsAnOption",
     train({"--max-steps", "40"}),
     {"unknown option --max-steps; a key of the configuration is set with --set train.max_steps=40"}},
    {"KeyAsAnOptionOfFinetune", {"finetune", "run", "--data", "text.txt", "--batch_size=4"}, {"with --set train.batch_size=4"}},
    {"KeyOfTwoSections", train({"--dropout"}), {"--set model.dropout=VALUE or lora.dropout=VALUE"}},
    {"KeyWithItsSection", train({"--train.max_steps", "--profile"}), {"--set train.max_steps=VALUE"}},
    {"KeyWhereNoneIsSet", of_run("eval", {"--max-steps=4"}), {"unknown option --max-steps=4"}},
    {"RunsOfAFolder", {"runs", "pictures"}, {"unknown command pictures; a folder is named with --in: dikkat runs --in pictures"}},
    {"RunsOfNothing", {"runs", "dif"}, {"unknown command dif; did you mean diff?"}},
    {"UnknownFlag", of_run("eval", {"--jsn=1"}), {"unknown option --jsn=1; did you mean --json?"}},
    {"StrayArgument", of_run("eval", {"more"}), {"eval takes no argument more"}},
    {"NeitherConfigurationNorCorpus", {"train"}, {"data.corpus"}},
    {"MissingArgument", {"eval", "--json"}, {"MODEL is required", "dikkat eval --help"}},
    {"OptionWithoutAValue", {"train", "--config"}, {"--config takes one value"}},
    {"OptionGivenTwice", {"train", "--config", "tiny.toml", "--config", "tiny.toml"}, {"--config takes one value, once"}},
};

/// One line for people, without the traces of a crash.
void expect_one_sentence(const std::string& text) {
  EXPECT_TRUE(text.starts_with("dikkat: ")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_LT(text.size(), 500U) << text;
  for (const char* trace : {"terminate", "what()", "std::", "exception", "Usage:"}) {
    EXPECT_FALSE(contains(text, trace)) << text;
  }
}

void expect_refusal(const Workspace& here, const Words& arguments, const Words& words) {
  const auto before = here.tree();
  const Outcome outcome = here.run(arguments);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  expect_one_sentence(outcome.err);
  for (const std::string& word : words) {
    EXPECT_TRUE(contains(outcome.err, word)) << word << " is not in\n" << outcome.err;
  }
  EXPECT_TRUE(here.tree() == before) << "something was written";
}

class BadInputTest : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    here_ = std::make_unique<Workspace>();
    here_->train("run", {"train.max_steps=4"});
    here_->train("chars", {"train.max_steps=4", "tokenizer.kind=char"});
    here_->write("empty.txt", "");
    here_->write("binary.txt", std::string("abc\0def", 7));
    here_->write("short.txt", "hello");
    here_->write("other.txt", "the X");
    here_->write("latin.txt", std::string(3060, 'e') + "\xe9" + std::string(1000, 'e'));
    here_->write("pictures/cat.png", "a cat");
    here_->write("unknown.toml", "[model]\nblocksize = 32\n");
    here_->write("quoted.toml", "[train]\nmax_steps = \"100\"\n");
    ASSERT_EQ(::mkfifo((*here_ / "pipe").c_str(), 0600), 0);
  }
  static void TearDownTestSuite() { here_.reset(); }

  static inline std::unique_ptr<Workspace> here_;
};

TEST_P(BadInputTest, IsRefused) { expect_refusal(*here_, GetParam().arguments, GetParam().words); }

INSTANTIATE_TEST_SUITE_P(All, BadInputTest, ::testing::ValuesIn(kCases), [](const auto& c) { return std::string(c.param.name); });

TEST(BadInput, AnUnreadableCorpusIsRefused) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root reads everything";
  }
  const Workspace here;
  std::filesystem::permissions(here / "text.txt", std::filesystem::perms::none);
  const Outcome outcome = here.run(train({}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "text.txt")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(here / "new"));
}

TEST(BadInput, ACorpusThatChangedIsFound) {
  const Workspace here;
  here.train("run", {"train.max_steps=4"});
  std::string text = tiny_text();
  text.back() = '!';
  here.write("text.txt", text);
  expect_refusal(here, {"resume", "run", "--set", "train.max_steps=8"}, {"the corpus has changed", "text.txt", "bring the text back"});
  expect_refusal(here, {"resume", "run"}, {"the corpus has changed"});
  expect_refusal(here, {"eval", "run"}, {"the corpus has changed", "text.txt", "dikkat eval --corpus"});
  std::filesystem::remove(here / "text.txt");
  expect_refusal(here, {"resume", "run", "--set", "train.max_steps=8"}, {"text.txt does not exist"});
  EXPECT_EQ(here.run({"sample", "run", "--max-new-tokens", "2"}).code, 0) << "a checkpoint alone is enough to write";
}

TEST(BadInput, NaNIsNeverApplied) {
  const Workspace here;
  const Outcome outcome = here.run(train({"--set", "optim.learning_rate=1", "optim.weight_decay=10", "optim.warmup_steps=0",
                                          "optim.schedule=constant", "optim.grad_clip=0", "train.max_steps=100"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  const std::string sentence = outcome.err.substr(outcome.err.rfind("dikkat: "));
  expect_one_sentence(sentence);
  for (const char* word :
       {"moment of ", "is not finite after the update, which is not saved", "new/checkpoints/step-", "optim.learning_rate"}) {
    EXPECT_TRUE(contains(sentence, word)) << word << " is not in\n" << sentence;
  }
  const Outcome verified = here.run({"verify", "new"});
  EXPECT_EQ(verified.code, 0) << verified.err;
}

}  // namespace
}  // namespace dikkat::testing
