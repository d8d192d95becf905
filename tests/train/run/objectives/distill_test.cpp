#include <cmath>

#include <gtest/gtest.h>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/data/corpus/text_dataset.h"
#include "train/model/trained_model.h"
#include "train/run/new_run.h"
#include "train/run/objectives/teacher_reader.h"
#include "train/run/teach.h"
#include "train/run/verify_resume.h"

// A teacher's file, and runs that learn from it.
namespace dikkat {
namespace {

namespace fs = std::filesystem;
using testing::names;

struct StudentRecorder : TrainingEvents {
  void stepped(const StepReport& r) override { losses.push_back(r.loss); }
  void evaluated(const EvaluationReport& r) override { validation.push_back(r.val_loss); }
  std::vector<double> losses, validation;
};

class Distilling : public ::testing::Test {
 protected:
  Distilling() {
    write_file(folder / "text.txt", tiny_text());
    std::string chats, documents;
    for (int i = 0; i < 30; ++i) {
      chats += concat(R"({"messages":[{"role":"user","content":"go )", i, R"("},{"role":"assistant","content":"by night )", i % 7,
                      R"("}]})", '\n');
      documents +=
          concat(R"({"text":")", tiny_text().substr(static_cast<std::size_t>(40 * i), static_cast<std::size_t>(20 + 7 * i)), "\"}\n");
    }
    std::ranges::replace(documents, '\n', ' ');
    std::string lines;
    for (std::size_t at = 0; at < documents.size(); ++at) {
      lines += documents[at];
      if (documents[at] == '}') {
        lines += '\n';
      }
    }
    write_file(folder / "chats.jsonl", chats);
    write_file(folder / "documents.jsonl", lines);
    Config base = tiny_config(folder / "text.txt");
    base.model.block_size = 48;
    base.model.n_embd = 32;
    base.data.window = {};
    base.tokenizer.kind = "bpe";
    base.tokenizer.vocab_size = 300;
    base.train.max_steps = 12;
    resolve(base);
    TrainingEvents nobody;
    Trainer::start(base, folder / "teacher").run(nobody, never);
  }

  /// A smaller student, with the teacher's tokenizer.
  Config student(const char* corpus = "text.txt", Packing pack = Packing::stream) const {
    Config c = tiny_config(folder / corpus);
    c.model.block_size = 48;
    c.data.window = {};
    c.data.pack = pack;
    c.tokenizer.path = folder / "teacher";
    c.model.dropout = 0;
    resolve(c);
    return c;
  }

  /// Writes the teacher's file for the text of a student. Stops after so many batches; negative: never.
  std::string taught(const Config& config, const std::string& name, int batches = -1, index window = 32) const {
    const bool stops = batches >= 0;
    Config c = config;
    c.distill = {};
    const NewRun run = load_new_run(c, {}, {});
    const TeacherPositions text = run.data.trained_targets("a test");
    const bool is_stream = text.is_stream();
    TeacherHeader header = teacher_header(text, *run.data.tokenizer,
                                          {.top = 8,
                                           .temperatures = {1, 2},
                                           .window = is_stream ? window : 0,
                                           .stride = is_stream ? window / 2 : 0,
                                           .batch_size = 3,
                                           .targets_of_part = 100});
    const TrainedModel teacher = load_trained_model(folder / "teacher");
    const auto samples = text.samples(header.window, header.stride);
    const bool done =
        teach(*teacher.model, header, DType::f32, *samples, folder / name, [&] { return batches-- == 0; }, [](double, double) {});
    EXPECT_EQ(done, !stops);
    return (folder / name).string();
  }
  StudentRecorder train(const Config& c, const std::string& run) const {
    StudentRecorder events;
    Trainer::start(c, folder / run).run(events, never);
    return events;
  }
  std::string refusal(const Config& c) const {
    return input_error_of([&] { Trainer::start(c, folder / "refused"); });
  }

  TemporaryFolder folder;
};

/// Every way of cutting a text: each scored target has its own number, in the samples of teacher and student.
TEST_F(Distilling, TargetsHaveNumbers) {
  for (const auto& [corpus, pack] : {std::pair("text.txt", Packing::stream), std::pair("documents.jsonl", Packing::document),
                                     std::pair("documents.jsonl", Packing::best_fit), std::pair("chats.jsonl", Packing::best_fit)}) {
    SCOPED_TRACE(corpus);
    Config c = student(corpus, pack);
    if (std::string_view(corpus) == "chats.jsonl") {
      c.train.init_from = folder / "teacher";
      c.tokenizer = {};
      c.tokenizer.kind = "bpe";
      c.tokenizer.vocab_size = 300;
      c.model.n_embd = 32;
      resolve(c);
    }
    const NewRun run = load_new_run(c, {}, {});
    const TeacherPositions text = run.data.trained_targets("a test");
    const auto token_of = [](const Batch& batch, std::size_t at) { return std::pair(batch.inputs[at], batch.targets[at]); };
    // The teacher's.
    std::vector<std::pair<Token, Token>> seen;
    Batch batch;
    const auto samples = text.samples(text.is_stream() ? 32 : 0, text.is_stream() ? 16 : 0);
    for (index i = 0; i < samples->count(); ++i) {
      batch.reshape(1, samples->lengths(i));
      samples->fill(0, i, 0, batch);
      for (std::size_t at = 0; at < batch.numbers.size(); ++at) {
        ASSERT_EQ(batch.numbers[at] >= 0, batch.weights[at] != 0);
        if (batch.numbers[at] >= 0) {
          ASSERT_EQ(batch.numbers[at], std::ssize(seen));
          seen.push_back(token_of(batch, at));
        }
      }
    }
    EXPECT_EQ(std::ssize(seen), text.targets());
    // The student's, of two epochs.
    const Samples& training = *run.data.sources.front().training;
    index scored = 0;
    for (const index epoch : {0, 1}) {
      for (index i = 0; i < training.count(); ++i) {
        batch.reshape(1, training.lengths(i));
        training.fill(epoch, i, 0, batch);
        for (std::size_t at = 0; at < batch.numbers.size(); ++at) {
          ASSERT_EQ(batch.numbers[at] >= 0, batch.weights[at] != 0);
          if (batch.numbers[at] >= 0) {
            ++scored;
            ASSERT_EQ(seen.at(static_cast<std::size_t>(batch.numbers[at])), token_of(batch, at));
          }
        }
      }
    }
    EXPECT_GT(scored, text.targets());
  }
}

/// In another order, the target after a document's end is not the teacher's. What the teacher expected there belongs to the input.
TEST_F(Distilling, ShuffledTargetsHaveTheNumbersOfTheirInputs) {
  Config c = student("documents.jsonl");
  c.data.order = DocumentOrder::shuffled;
  const NewRun run = load_new_run(c, {}, {});
  const TokenStore& store = dynamic_cast<const TextDataset&>(*run.data.sources.front().train).tokens();
  const Samples& training = *run.data.sources.front().training;
  Batch batch;
  for (index i = 0; i < training.count(); ++i) {
    batch.reshape(1, training.lengths(i));
    training.fill(1, i, 0, batch);
    for (std::size_t at = 0; at < batch.numbers.size(); ++at) {
      Token input = -1;
      ASSERT_GE(batch.numbers[at], 0);
      store.read(batch.numbers[at], 1, &input);
      ASSERT_EQ(batch.inputs[at], input);
    }
  }
  c.distill.file = taught(c, "taught");
  c.train.max_steps = 4;
  const double loss = train(c, "shuffled").losses.back();
  EXPECT_TRUE(0 < loss && loss < 10) << loss;
}

TEST_F(Distilling, AKilledTeacherContinuesWithTheSameBytes) {
  const Config c = student();
  const TeacherFile whole(taught(c, "whole"));
  EXPECT_GT(whole.header().parts(), 3);
  taught(c, "halves", 7);
  EXPECT_TRUE(names(input_error_of([&] { TeacherFile(folder / "halves"); }), {"halves", "part"}));
  EXPECT_EQ(TeacherFile(taught(c, "halves")).hash(), whole.hash());
  // Another number of threads.
  for (const int threads : {1, 2, 4}) {
    const WithThreads some(threads, Work{0});
    EXPECT_EQ(TeacherFile(taught(c, concat("threads", threads))).hash(), whole.hash());
  }
  // Other options, and damage.
  EXPECT_TRUE(names(input_error_of([&] { taught(c, "whole", -1, 16); }), {"whole", "window", "16"}));
  const fs::path part = folder / "whole" / "part-00001.bin";
  std::string bytes = contents(part);
  bytes[17] = static_cast<char>(bytes[17] ^ 1);
  write_file(part, bytes);
  EXPECT_TRUE(names(input_error_of([&] { TeacherFile(folder / "whole"); }), {"part-00001.bin"}));
  EXPECT_TRUE(names(input_error_of([&] { taught(c, "whole"); }), {"part-00001.bin"}));
}

TEST_F(Distilling, ATeacherHelps) {
  const std::string file = taught(student(), "taught");
  Config c = student();
  c.train.max_steps = 24;
  const StudentRecorder plain = train(c, "plain");
  c.distill = {.file = file, .share = 0.7, .temperature = 2};
  const StudentRecorder distilled = train(c, "distilled");
  ASSERT_EQ(plain.validation.size(), distilled.validation.size());
  EXPECT_NE(plain.losses[0], distilled.losses[0]);
  EXPECT_LT(distilled.losses.back(), distilled.losses.front());
  EXPECT_LT(distilled.validation.back(), 1.1 * plain.validation.back()) << "evaluations measure the ordinary loss";
  // With a share of almost nothing, the losses are the ordinary ones.
  c.distill.share = 1e-9;
  const StudentRecorder hardly = train(c, "hardly");
  EXPECT_NEAR(hardly.losses.front(), plain.losses.front(), 1e-5);
  EXPECT_NEAR(hardly.validation.front(), plain.validation.front(), 1e-3);
}

TEST_F(Distilling, HasTheSameBitsOnAnyNumberOfThreads) {
  Config c = student();
  c.distill = {.file = taught(student(), "taught"), .share = 0.5, .temperature = 2};
  c.train.max_steps = 2;
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    c.train.precision = precision;
    c.train.emulate_bf16 = true;
    std::vector<double> expected;
    for (const int threads : {1, 2, 4}) {
      const WithThreads some(threads, Work{0});
      const StudentRecorder found = train(c, concat(name_of(precision), threads));
      expected = expected.empty() ? found.losses : expected;
      EXPECT_EQ(found.losses, expected) << threads;
      EXPECT_TRUE(std::isfinite(found.losses.back()));
    }
  }
}

TEST_F(Distilling, ResumesExactly) {
  for (const Packing pack : {Packing::stream, Packing::best_fit}) {
    Config c = student(pack == Packing::stream ? "text.txt" : "documents.jsonl", pack);
    c.distill.file = taught(c, concat("taught", static_cast<int>(pack)));
    const auto proof = verify_resume(c, 6, folder / "verify", {}, never, [](double) {});
    ASSERT_TRUE(proof.has_value());
    EXPECT_EQ(proof->difference, "");
  }
}

TEST_F(Distilling, NeedsTheFileThatItBeganWith) {
  Config c = student();
  c.distill.file = taught(c, "taught");
  TrainingEvents nobody;
  {
    Trainer trainer = Trainer::start(c, folder / "run");
    trainer.run(nobody, [&] { return trainer.state().step >= 3; });
  }
  const std::string other = taught(student(), "other", -1, 16);
  const auto resumed_with = [&](const std::string& file) {
    return input_error_of([&] { Trainer::resume(folder / "run", {.overrides = {"distill.file=" + file}}); });
  };
  EXPECT_TRUE(names(resumed_with(other), {"distill.file", other}));
  EXPECT_TRUE(names(resumed_with(""), {"distill.file"}));
  fs::rename(folder / "taught", folder / "moved");
  EXPECT_EQ(Trainer::resume(folder / "run", {.overrides = {"distill.file=" + folder.path("moved")}}).run(nobody, never),
            Trainer::Outcome::finished);
}

TEST_F(Distilling, RefusesWhatDoesNotFit) {
  const std::string file = taught(student(), "taught");
  // Other tokens.
  Config c = student();
  c.distill.file = file;
  c.data.val_fraction = 0.3;
  EXPECT_TRUE(names(refusal(c), {"distill.file", file, "data.val_fraction"}));
  c = student("documents.jsonl", Packing::document);
  c.distill.file = file;
  EXPECT_TRUE(names(refusal(c), {"distill.file", file}));
  // Another vocabulary.
  c = student();
  c.distill.file = file;
  c.tokenizer = {};
  c.tokenizer.kind = "bpe";
  c.tokenizer.vocab_size = 280;
  EXPECT_TRUE(names(refusal(c), {"distill.file", file, "280"}));
  // A temperature that the file lacks.
  c = student();
  c.distill = {.file = file, .temperature = 3};
  EXPECT_TRUE(names(refusal(c), {"distill.temperature", "3", "1, 2"}));
  // Other losses.
  c = student();
  c.distill.file = file;
  c.preference.method = PreferenceMethod::dpo;
  EXPECT_TRUE(names(input_error_of([&] { validate(c); }), {"distill.file", "preference.method"}));
  c = student();
  c.distill.file = file;
  c.train.label_smoothing = 0.1;
  EXPECT_TRUE(names(input_error_of([&] { validate(c); }), {"distill.file", "train.label_smoothing"}));
  c = student();
  c.distill.file = file;
  c.model.kind = ModelKind::encoder_decoder;
  EXPECT_TRUE(names(input_error_of([&] { validate(c); }), {"distill.file", "encoder_decoder"}));
  EXPECT_FALSE(fs::exists(folder / "refused"));
}

TEST_F(Distilling, APlanCountsTheTeachersBins) {
  Config c = student();
  const MemoryPlan without = Trainer::plan(c).memory_plan();
  c.distill.file = taught(c, "taught");
  const MemoryPlan with = Trainer::plan(c).memory_plan();
  const NewRun run = load_new_run(c, {}, {});
  TeacherReader teacher(run.config, run.data);
  LanguageModel model(run.config->model, run.data.tokenizer->vocab_size());
  model.parameters().allocate(1);
  Tape tape;
  Batch batch;
  const Samples& training = *run.data.sources.front().training;
  batch.reshape(c.train.batch_size, training.longest());
  for (index row = 0; row < batch.rows; ++row) {
    training.fill(0, row, row, batch);
  }
  Pass pass{.tape = tape, .training = true, .recompute = c.train.recompute};
  tape.backward(model.loss(pass, batch, batch.target_weight, 0, nullptr, teacher.on(tape, batch)));
  EXPECT_EQ(with.activations + with.head + with.recomputation, tape.activation_bytes());
  EXPECT_EQ(with.activation_gradients, tape.gradient_bytes());
  const auto bins = static_cast<std::size_t>(std::ssize(batch.targets) * (8 + 9)) * sizeof(float);
  EXPECT_GE(with.activations + with.head, without.activations + without.head + bins) << "ids and probabilities";
  tape.reset();
}

}  // namespace
}  // namespace dikkat
