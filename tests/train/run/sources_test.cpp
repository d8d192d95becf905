#include <cmath>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/data/samples/mixture.h"
#include "train/metrics/run_history.h"
#include "train/model/trained_model.h"
#include "train/run/evaluate.h"
#include "train/run/loss_fingerprint.h"
#include "train/run/objectives/language_scorer.h"

namespace dikkat {
namespace {

using testing::names;

struct Evaluations : TrainingEvents {
  void evaluated(const EvaluationReport& r) override { all.push_back(r); }
  std::vector<EvaluationReport> all;
};

/// Runs on two sources, and a third text that is only evaluated.
class Sources : public ::testing::Test {
 protected:
  Sources() {
    write_file(folder / "lamps.txt", tiny_text());
    std::string other;
    for (index i = 0; i < 300; ++i) {
      other += i % 3 == 0 ? "who goes by day? " : i % 7 == 0 ? "nobody " : "a lamp. ";
    }
    write_file(folder / "days.txt", other);
    write_file(folder / "held.txt", other.substr(0, 900));
    write_file(folder / "apart.txt", "nobody turns a lamp by day. ships go at night.\nwho turns the ships?\n");
  }

  Config config() const {
    Config c = tiny_config("");
    c.data.corpus.clear();
    c.data.sources = {{.name = "lamps", .corpus = {(folder / "lamps.txt").string()}, .weight = 3},
                      {.name = "days", .corpus = {(folder / "days.txt").string()}, .validation = {(folder / "held.txt").string()}}};
    c.data.evaluations = {{.name = "apart", .corpus = {(folder / "apart.txt").string()}}};
    return c;
  }
  std::vector<EvaluationReport> train(const Config& c, const char* run) const {
    Evaluations events;
    Trainer::start(c, folder / run).run(events, [] { return false; });
    return events.all;
  }

  TemporaryFolder folder;
};

TEST_F(Sources, AreSplitAndReportedSeparatelyAndTogether) {
  Config c = config();
  c.train.eval_tokens = 0;
  const auto reports = train(c, "run");
  ASSERT_FALSE(reports.empty());
  const EvaluationReport& last = reports.back();
  ASSERT_EQ(last.losses.size(), 3U);
  EXPECT_EQ(last.losses[0].name, "lamps");
  EXPECT_EQ(last.losses[1].name, "days");
  EXPECT_EQ(last.losses[2].name, "apart");
  EXPECT_DOUBLE_EQ(last.val_loss, 0.75 * last.losses[0].loss + 0.25 * last.losses[1].loss);
  const double a = 0.75 * last.losses[0].standard_error, b = 0.25 * last.losses[1].standard_error;
  EXPECT_NEAR(last.val_standard_error, std::sqrt(a * a + b * b), 1e-12);

  // Each is the loss over only that text, computed from the checkpoint.
  const TrainedModel trained = load_trained_model((folder / "run").string(), {.choice = CheckpointChoice::newest});
  LanguageScorer scorer(*trained.model);
  Evaluator evaluator(scorer);
  const LoadedText held = load_evaluation_text(ResolvedConfig(trained.config), *trained.tokenizer, {(folder / "held.txt").string()});
  EXPECT_EQ(evaluator(*held.data->evaluation(), {})->loss, last.losses[1].loss);
  const LoadedText apart = load_evaluation_text(ResolvedConfig(trained.config), *trained.tokenizer, {(folder / "apart.txt").string()});
  EXPECT_EQ(evaluator(*apart.data->evaluation(), {})->loss, last.losses[2].loss);
  EXPECT_EQ(last.losses[2].scored, loss_fingerprint_of(*apart.data, *trained.tokenizer));

  // The mixture determines how often each was seen.
  const Trainer again = Trainer::resume(folder / "run", {});
  const double weights[] = {0.75, 0.25};
  const Mixture mixture(weights);
  const index samples = again.state().samples_seen;
  for (index source = 0; source < 2; ++source) {
    const auto count = static_cast<double>(again.data().sources[static_cast<std::size_t>(source)].training->count());
    EXPECT_DOUBLE_EQ(last.losses[static_cast<std::size_t>(source)].epochs, static_cast<double>(mixture.taken(source, samples)) / count);
  }
  EXPECT_FALSE(last.losses[2].is_source());

  // metrics.jsonl has the losses too.
  const RunHistory history = read_history(folder / "run");
  const EvaluationReport& written = history.evaluations.back().report;
  ASSERT_EQ(written.losses.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(written.losses[i].loss, last.losses[i].loss);
    EXPECT_TRUE(written.losses[i].scored.is_known());
    EXPECT_EQ(written.losses[i].scored, last.losses[i].scored);
    EXPECT_EQ(written.losses[i].is_source(), last.losses[i].is_source());
  }
}

TEST_F(Sources, ARunThatIsStoppedContinuesToTheSameBitsOnOtherThreads) {
  const Config c = config();
  const auto whole = train(c, "whole");
  {
    const int threads = thread_count();
    set_thread_count(threads + 1);
    Trainer first = Trainer::start(c, folder / "parts");
    TrainingEvents events;
    int left = 7;
    EXPECT_EQ(first.run(events, [&] { return --left == 0; }), Trainer::Outcome::stopped);
    set_thread_count(threads);
  }
  Evaluations events;
  Trainer::resume(folder / "parts", {}).run(events, [] { return false; });
  EXPECT_EQ(contents(folder / "parts/checkpoints/step-000000020.h5"), contents(folder / "whole/checkpoints/step-000000020.h5"));
  ASSERT_FALSE(events.all.empty());
  EXPECT_EQ(events.all.back().losses[0].epochs, whole.back().losses[0].epochs);
}

TEST_F(Sources, OneSourceIsTheCorpus) {
  Config one = config();
  one.data.sources.pop_back();
  one.data.evaluations.clear();
  Config plain = tiny_config(folder / "lamps.txt");
  const auto a = train(one, "one"), b = train(plain, "plain");
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.back().val_loss, b.back().val_loss);
  EXPECT_EQ(a.back().train_loss, b.back().train_loss);
}

TEST_F(Sources, AChangedSourceIsRefusedAndAChangedEvaluationIsNot) {
  train(config(), "run");
  write_file(folder / "apart.txt", "a lamp turns. nobody goes by night. who goes by day?\n");
  EXPECT_NO_THROW(Trainer::resume(folder / "run", {}));
  write_file(folder / "days.txt", "who goes by day? a lamp. a lamp. nobody. who goes by day? a lamp. a lamp. nobody. a lamp.");
  EXPECT_TRUE(names(testing::error_of([&] { Trainer::resume(folder / "run", {}); }), {"corpus", "changed", "sha256"}));
}

TEST_F(Sources, ErrorsNameTheSource) {
  const auto refusal = [&](const std::function<void(Config&)>& change) {
    Config c = config();
    change(c);
    return testing::error_of([&] { Trainer::plan(c); });
  };
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.corpus = {"x.txt"}; }), {"data.sources", "data.corpus"}));
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.sources[1].name = "lamps"; }), {"data.sources", "\"lamps\"", "second"}));
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.evaluations[0].name = "days"; }), {"data.evaluations", "\"days\"", "second"}));
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.sources[1].weight = 1e-6; }), {"data.sources", "weight", "\"days\"", "1e-6"}));
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.sources[1].weight = 0; }), {"data.sources.weight", "0.0", "number", "0"}));
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.sources[0].name.clear(); }), {"data.sources", "name", "corpus"}));
  write_file(folder / "short.txt", "go");
  EXPECT_TRUE(names(refusal([&](Config& c) { c.data.sources[1].corpus = {(folder / "short.txt").string()}; }), {"source \"days\""}));
  EXPECT_TRUE(names(refusal([&](Config& c) {
                      c.data.val_fraction = 0;
                      c.data.sources[1].validation.clear();
                    }),
                    {"data.evaluations", "data.val_fraction"}));
}

TEST_F(Sources, AreInTheConfigurationOfARun) {
  const Config c = config();
  Config back = parse_config(to_toml(c), "written");
  EXPECT_EQ(back.data.sources, c.data.sources);
  EXPECT_EQ(back.data.evaluations, c.data.evaluations);
  back.data.sources[0].weight = 2;
  ASSERT_EQ(differences(c, back, "data").size(), 1U);
  EXPECT_EQ(differences(c, back, "data")[0].path, "data.sources");
  const auto error = [](const char* text) { return testing::error_of([&] { parse_config(text, "t"); }); };
  EXPECT_TRUE(names(error("[[data.sources]]\nname = \"a\"\ncorpus = [\"a\"]\nwieght = 1"), {"data.sources", "wieght", "weight"}));
  EXPECT_TRUE(names(error("[[data.sources]]\nname = \"a\"\ncorpus = \"a\""), {"data.sources.corpus", "list"}));
  EXPECT_TRUE(names(error("[data]\nsources = 3"), {"data.sources", "[[data.sources]]"}));
}

}  // namespace
}  // namespace dikkat
