#include "train/config/edit.h"

#include <gtest/gtest.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

TEST(ConfigEdit, IsWrittenAsSetTakesIt) {
  const std::vector<std::string> one = {"held-out.jsonl"}, comma = {"a, b.txt"};
  EXPECT_EQ(ConfigEdit("train.max_steps", index{20}).assignment(), "train.max_steps=20");
  EXPECT_EQ(ConfigEdit("optim.learning_rate", 3e-4).assignment(), "optim.learning_rate=0.0003");
  EXPECT_EQ(ConfigEdit("optim.min_lr", 0.0).assignment(), "optim.min_lr=0");
  EXPECT_EQ(ConfigEdit("optim.learning_rate", 2e-5).assignment(), "optim.learning_rate=2e-05");
  EXPECT_EQ(ConfigEdit("model.norm_eps", 1e-6, "1e-6").assignment(), "model.norm_eps=1e-6");
  EXPECT_EQ(ConfigEdit("model.bias", false).assignment(), "model.bias=false");
  EXPECT_EQ(ConfigEdit("tokenizer.kind", "bpe").assignment(), "tokenizer.kind=bpe");
  EXPECT_EQ(ConfigEdit("preference.method", PreferenceMethod::auto_).assignment(), "preference.method=auto");
  EXPECT_EQ(ConfigEdit("data.validation", one).assignment(), "data.validation=held-out.jsonl");
  EXPECT_EQ(ConfigEdit("data.validation", comma).assignment(), R"(data.validation=["a, b.txt"])");
}

TEST(ConfigEdit, IsReadAsItIsWritten) {
  for (const char* assignment : {"train.max_steps=20", "optim.learning_rate=2e-05", "model.norm_eps=1e-6", "model.norm=rms_norm",
                                 "data.validation=held-out.jsonl", R"(data.validation=["a, b.txt"])"}) {
    const ConfigEdit edit = ConfigEdit::read(assignment);
    EXPECT_EQ(edit.assignment(), assignment);
    Config config;
    edit.apply(config);
    EXPECT_EQ(edit.key().get(config), edit.value());
  }
}

TEST(ConfigEdit, RefusesWhatTheKeyDoesNotAccept) {
  EXPECT_THROW(ConfigEdit("train.max_step", index{20}), Error);
  EXPECT_THROW(ConfigEdit("train.max_steps", index{-1}), Error);
  EXPECT_THROW(ConfigEdit("train.max_steps", 20.0), Error);
  EXPECT_THROW(ConfigEdit("optim.learning_rate", index{1}), Error);
  EXPECT_THROW(ConfigEdit("model.norm", "no_norm"), Error);
  EXPECT_THROW(ConfigEdit("model.norm_eps", 1e-6, "1e-5"), Error);
  for (const char* assignment : {"", "train.max_steps", "max_steps=20", "train.max_step=20", "train.max_steps=many"}) {
    EXPECT_THROW(ConfigEdit::read(assignment), InputError) << assignment;
  }
}

}  // namespace
}  // namespace dikkat
