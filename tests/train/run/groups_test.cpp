#include <map>
#include <set>
#include <typeinfo>

#include "autograd/base/parallel.h"
#include "tests/support/throws.h"
#include "tests/train/run/tiny_run.h"
#include "train/config/parse.h"
#include "train/config/render.h"
#include "train/config/resolve.h"
#include "train/model/make_optimizer.h"
#include "train/model/trained_model.h"
#include "train/run/training_snapshot.h"

namespace dikkat {
namespace {

using testing::names;

struct Optimizers : ::testing::Test {
  Optimizers() { write_file(folder / "corpus.txt", tiny_text()); }
  Config config(OptimizerKind kind) const {
    Config c = tiny_config(folder / "corpus.txt");
    c.optim.kind = kind;
    c.train.max_steps = 8;
    return c;
  }
  /// The bytes of the last checkpoint.
  static std::string last_of(const std::filesystem::path& run) { return contents(open_checkpoint(run).path()); }
  static std::vector<float> weights(const std::filesystem::path& run, const char* path) {
    const TrainedModel trained = load_trained_model(run.string(), {.choice = CheckpointChoice::newest});
    ParameterStore& store = trained.model->parameters();
    const ParameterStore::Entry& entry = store.entry(path);
    return {store.weights<float>() + entry.offset, store.weights<float>() + entry.offset + entry.size()};
  }

  TemporaryFolder folder;
  TrainingEvents quiet;
};

TEST_F(Optimizers, EachKindIsAnOptimizerOfItsOwn) {
  std::set<std::string> optimizers;
  for (const std::string_view kind : Names<OptimizerKind>::of) {
    LanguageModel model({}, 65);
    OptimConfig optim;
    optim.kind = *value_named<OptimizerKind>(kind);
    const std::unique_ptr<Optimizer> optimizer = make_optimizer(optim, model.parameters());
    const Optimizer& made = *optimizer;
    optimizers.insert(typeid(made).name());
  }
  EXPECT_EQ(optimizers.size(), std::size(Names<OptimizerKind>::of));
}

TEST_F(Optimizers, MuonResumesToTheSameBytesOnOtherThreads) {
  {
    const WithThreads two(2);
    Trainer::start(config(OptimizerKind::muon), folder / "whole").run(quiet, never);
    Trainer::start(config(OptimizerKind::muon), folder / "parts").run(quiet, after(3));
  }
  const WithThreads one(1);
  Trainer::resume(folder / "parts", {}).run(quiet, never);
  EXPECT_EQ(last_of(folder / "whole"), last_of(folder / "parts"));
  std::map<std::string, int> slabs;
  const CheckpointFile checkpoint = open_checkpoint(folder / "whole");
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    ++slabs[tensor.path.substr(0, tensor.path.rfind('/'))];
  }
  const int all = slabs["model"];
  EXPECT_EQ(slabs,
            (std::map<std::string, int>{{"model", all}, {"optimizer/momentum", 8}, {"optimizer/m", all - 8}, {"optimizer/v", all - 8}}));
}

TEST_F(Optimizers, NorMuonHasAStateOfItsOwn) {
  Config c = config(OptimizerKind::muon);
  c.optim.muon_normalize = true;
  Trainer::start(c, folder / "run").run(quiet, after(3));
  const CheckpointFile checkpoint = open_checkpoint(folder / "run");
  std::map<std::string, Shape> shapes;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.path.starts_with("optimizer/lines/h.0.")) {
      shapes[tensor.path] = tensor.shape;
    }
  }
  EXPECT_EQ(shapes, (std::map<std::string, Shape>{{"optimizer/lines/h.0.attn.c_attn.weight", {3 * 16}},
                                                  {"optimizer/lines/h.0.attn.c_proj.weight", {16}},
                                                  {"optimizer/lines/h.0.mlp.c_fc.weight", {64}},
                                                  {"optimizer/lines/h.0.mlp.c_proj.weight", {64}}}));
  EXPECT_THROW(Trainer::resume(folder / "run", {.overrides = {"optim.muon_normalize=false"}}), InputError);
  EXPECT_NO_THROW(Trainer::resume(folder / "run", {.overrides = {"optim.muon_coefficients=polar_express"}}));
}

TEST_F(Optimizers, FrozenParametersDoNotChangeAndHaveNoState) {
  for (const std::string kind : {"adamw", "muon", "sgd"}) {
    const auto run = folder / kind;
    Config c = config(*value_named<OptimizerKind>(kind));
    c.optim.groups = {{.match = "h.0.*", .frozen = true}, {.match = "wte.weight", .frozen = true}};
    std::unique_ptr<Trainer> trainer(new Trainer(Trainer::start(c, run)));
    const auto first = [&](const char* path) {
      auto& store = const_cast<ParameterStore&>(trainer->model().parameters());
      const ParameterStore::Entry& entry = store.entry(path);
      return std::vector<float>(store.weights<float>() + entry.offset, store.weights<float>() + entry.offset + entry.size());
    };
    std::map<std::string, std::vector<float>> before;
    for (const char* path : {"h.0.attn.c_attn.weight", "h.0.ln_1.weight", "wte.weight", "h.1.attn.c_attn.weight"}) {
      before[path] = first(path);
    }
    trainer->run(quiet, after(3));
    trainer.reset();
    Trainer::resume(run, {}).run(quiet, never);
    for (const auto& [path, values] : before) {
      EXPECT_EQ(weights(run, path.c_str()) == values, !path.starts_with("h.1")) << kind << ' ' << path;
    }
    const CheckpointFile checkpoint = open_checkpoint(run);
    for (const StoredTensor& tensor : checkpoint.tensors()) {
      EXPECT_FALSE(tensor.path.starts_with("optimizer") && tensor.path.find("/h.0.") != std::string::npos) << tensor.path;
    }
  }
}

TEST_F(Optimizers, AreFixedWhenARunStarts) {
  const auto run = folder / "run";
  Trainer::start(config(OptimizerKind::adamw), run).run(quiet, after(3));
  for (const char* change : {"optim.kind=muon", "optim.groups=[{match='h.0.*',frozen=true}]"}) {
    EXPECT_THROW(Trainer::resume(run, {.overrides = {change}}), InputError) << change;
  }
}

// State that nothing would load means that another optimizer wrote the checkpoint.
TEST_F(Optimizers, StateOfOthersIsRefused) {
  Trainer::start(config(OptimizerKind::adamw), folder / "run").run(quiet, after(3));
  const CheckpointFile checkpoint = open_checkpoint(folder / "run");
  const auto refusal = [&](const OptimConfig& c) {
    const TrainedModel trained = load_trained_model((folder / "run").string(), {.choice = CheckpointChoice::newest});
    LanguageModel model(trained.config.model, trained.tokenizer->vocab_size());
    const auto optimizer = make_optimizer(c, model.parameters());
    model.parameters().allocate(1);
    optimizer->reserve();
    return testing::error_of([&] { load_optimizer(checkpoint, *optimizer); });
  };
  OptimConfig c = config(OptimizerKind::adamw).optim;
  EXPECT_EQ(refusal(c), "");
  c.groups = {{.match = "wte.weight", .frozen = true}};
  EXPECT_TRUE(names(refusal(c), {"/optimizer/m/wte.weight", "not have"}));
  c = config(OptimizerKind::muon).optim;
  EXPECT_TRUE(names(refusal(c), {"/optimizer/momentum/h.0"}));
}

TEST_F(Optimizers, AGroupThatHoldsNothingIsRefused) {
  Config c = config(OptimizerKind::adamw);
  c.optim.groups = {{.match = "h.0.atn.*", .weight_decay = 0}};
  EXPECT_TRUE(names(testing::error_of([&] { Trainer::plan(c); }), {"optim.groups", "\"h.0.atn.*\"", " h.0."}));
  c.optim.groups = {{.role = Role::head, .weight_decay = 0}};
  EXPECT_TRUE(names(testing::error_of([&] { Trainer::plan(c); }), {"optim.groups", "\"head\""}));
  c.optim.groups = {{.match = "*", .frozen = true}};
  EXPECT_TRUE(names(testing::error_of([&] { Trainer::plan(c); }), {"optim.groups", "all parameters"}));
}

TEST_F(Optimizers, GroupsAreInTheConfigurationOfARun) {
  Config c = parse_config(
      "[optim]\nkind = \"muon\"\n[[optim.groups]]\nrole = \"embedding\"\nlearning_rate = 0.01\n"
      "[[optim.groups]]\nmatch = \"h.?.*\"\nweight_decay = 0\nfrozen = false\n",
      "text");
  ASSERT_EQ(c.optim.groups.size(), 2U);
  EXPECT_EQ(c.optim.groups[0], (ParameterGroup{.role = Role::embedding, .learning_rate = 0.01}));
  EXPECT_EQ(c.optim.groups[1], (ParameterGroup{.match = "h.?.*", .weight_decay = 0, .frozen = false}));
  resolve(c);
  const Config back = parse_config(to_toml(c), "written");
  EXPECT_EQ(back.optim.groups, c.optim.groups);
  Config other = c;
  other.optim.groups.pop_back();
  ASSERT_EQ(differences(c, other, "optim").size(), 1U);
  EXPECT_EQ(differences(c, other, "optim")[0].path, "optim.groups");
  const auto error = [](const char* group) { return testing::error_of([&] { parse_config(concat("[[optim.groups]]\n", group), "t"); }); };
  EXPECT_TRUE(names(error("frozen = true"), {"optim.groups", "match", "role"}));
  EXPECT_TRUE(names(error("match = \"*\"\nfrosen = true"), {"optim.groups", "frosen", "frozen"}));
  EXPECT_TRUE(names(error("role = \"hiden\""), {"\"hiden\"", "\"vector\", \"hidden\", \"embedding\", \"head\""}));
  EXPECT_TRUE(names(error("match = \"*\"\nlearning_rate = -1"), {"optim.groups.learning_rate", "-1.0", "number", "0"}));
}

}  // namespace
}  // namespace dikkat
