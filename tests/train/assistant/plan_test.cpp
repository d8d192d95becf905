#include "train/assistant/plan.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"

namespace dikkat::assistant {
namespace {

// The file of a program of November 2026, before settings were edits. Its strings must stay.
constexpr const char* kOlderPlan =
    R"({"format":1,"corpus":["/texts/text.txt"],"chats":"/texts/chats","pairs":"/texts/pairs.jsonl","from":"",)"
    R"("name":"Dikkat","seconds":300.0,"table":"pretrain 4:47\n","tasks":"tasks.jsonl","longest_question":224,)"
    R"("learnt_pairs":40,"before":null,"stages":[{"name":"pretrain","corpus":["/texts/text.txt"],"from":"","settings":[)"
    R"("model.bias=false","model.norm=rms_norm","model.norm_eps=1e-6","model.activation=silu","model.gated=true",)"
    R"("model.positions=rope","model.qk_norm=true","tokenizer.kind=bpe","optim.kind=muon","optim.muon_coefficients=turbo",)"
    R"("optim.muon_normalize=true","optim.schedule=wsd","optim.decay_share=0.8","optim.min_lr_share=0","optim.beta1=0.8",)"
    R"("optim.beta2=0.95","train.eval_tokens=65536","model.n_layer=2","model.n_embd=64","model.n_head=2",)"
    R"("model.block_size=256","model.dropout=0.1","tokenizer.vocab_size=512","optim.learning_rate=0.006",)"
    R"("optim.weight_decay=0.8","train.batch_size=8","train.precision=bf16","train.max_steps=9073","optim.warmup_steps=453",)"
    R"("train.eval_interval=1135","train.checkpoint_interval=454"],"steps":9073,"seconds":286.9732281760199,"took":280.25,)"
    R"("done":true,"tasks":{"choices":{"high":0.95441,"low":0.30064,"questions":4,"right":3,"share":0.75}}},{"name":"chats",)"
    R"("corpus":["chats.jsonl"],"from":"pretrain","settings":["optim.schedule=linear","optim.min_lr=0",)"
    R"("optim.weight_decay=0","optim.beta2=0.99","train.eval_tokens=65536","train.precision=bf16",)"
    R"("optim.learning_rate=0.001","train.batch_size=8","data.validation=held-out.jsonl","train.max_steps=16",)"
    R"("optim.warmup_steps=1","train.eval_interval=2","train.checkpoint_interval=1"],"steps":16,"seconds":0.50431267584,)"
    R"("took":0.0,"done":false,"tasks":null},{"name":"preferences","corpus":["pairs.jsonl"],"from":"chats","settings":[)"
    R"("optim.schedule=linear","optim.min_lr=0","optim.weight_decay=0","optim.beta2=0.99","train.eval_tokens=65536",)"
    R"("train.precision=bf16","preference.method=auto","optim.learning_rate=2e-05","train.batch_size=2","train.max_steps=8",)"
    R"("optim.warmup_steps=1","train.eval_interval=1","train.checkpoint_interval=1"],"steps":8,"seconds":0.22851668123999996,)"
    R"("took":0.0,"done":false,"tasks":null}]})";

class AssistantPlan : public ::testing::Test {
 protected:
  void write(const std::string& text) const { folder.write("assistant.json", text); }
  Plan read() const { return read_plan(folder.path()); }

  const TemporaryFolder folder;
};

TEST_F(AssistantPlan, IsReadAsItWasWritten) {
  Plan plan{.wishes = {.corpus = {"/texts"}, .chats = "/chats.jsonl", .name = "Ada", .seconds = 90.5},
            .table = "pretrain\n",
            .longest_question = 224};
  plan.stages = {{.kind = StageKind::pretrain,
                  .corpus = {"/texts"},
                  .edits = {{"train.max_steps", index{7}}},
                  .steps = 7,
                  .seconds = 3,
                  .took = 2.5,
                  .done = true,
                  .tasks = R"({"choices":{"right":3}})"},
                 {.kind = StageKind::chats, .corpus = {"chats.jsonl"}, .after = StageKind::pretrain, .steps = 9}};
  EXPECT_FALSE(is_assistant(folder.path()));
  write_plan(folder.path(), plan);
  EXPECT_TRUE(is_assistant(folder.path()));
  const Plan found = read();
  EXPECT_EQ(plan_as_json(found), plan_as_json(plan));
  EXPECT_EQ(found.stages.at(0).tasks, plan.stages.at(0).tasks);
  EXPECT_EQ(found.stages.at(1).after, StageKind::pretrain);
}

TEST_F(AssistantPlan, OlderFilesAreReadAndKeepTheirStrings) {
  write(kOlderPlan);
  const Plan plan = read();
  EXPECT_EQ(plan_as_json(plan), kOlderPlan);
  ASSERT_EQ(plan.stages.size(), 3);
  Config config;
  for (const ConfigEdit& edit : plan.stages[0].edits) {
    edit.apply(config);
  }
  EXPECT_EQ(config.model.norm_eps, 1e-6);
  EXPECT_EQ(config.model.positions, Positions::rope);
  EXPECT_EQ(config.train.max_steps, 9073);
  EXPECT_EQ(plan.stages[2].kind, StageKind::preferences);
  EXPECT_EQ(plan.stages[2].after, StageKind::chats);
}

TEST_F(AssistantPlan, RefusesOtherFiles) {
  const std::string whole = kOlderPlan;
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string text = whole;
    return text.replace(text.find(old), old.size(), other);
  };
  for (const std::string& damaged : {std::string(), std::string("[]"), std::string("{}"), std::string(R"({"format":2})"),
                                     std::string(R"({"format":1,"corpus":[]})"), with(R"("name":"chats")", R"("name":"lessons")"),
                                     with(R"("from":"pretrain")", R"("from":"elsewhere")"), with(R"("steps":9073)", R"("steps":"many")")}) {
    write(damaged);
    EXPECT_THROW(read(), InputError) << damaged;
  }
  write(with("model.gated=true", "model.gaited=true"));
  EXPECT_TRUE(testing::names(testing::error_of<InputError>([&] { read(); }), {"assistant.json", "model.gaited=true"}));
}

}  // namespace
}  // namespace dikkat::assistant
