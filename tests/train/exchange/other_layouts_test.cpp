#include "train/exchange/other_layouts.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/exchange/model_files.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

// Each message names what is there and what is missing.
TEST(OtherLayouts, AreNamedWithWhatToDo) {
  struct Case {
    std::vector<const char*> files;
    std::vector<const char*> words;
  };
  const Case cases[] = {
      {{"consolidated.safetensors", "params.json", "tekken.json"}, {"consolidated.safetensors", "params.json", "config.json"}},
      {{"consolidated.00.pth", "params.json", "tokenizer.model"}, {"consolidated.00.pth", "params.json", "config.json"}},
      {{"model-q8_0.gguf", "README.md"}, {"model-q8_0.gguf", "config.json"}},
      {{"a.gguf", "b.gguf", "c.gguf", "d.gguf"}, {"a.gguf", "c.gguf", "1 others"}},
      {{"ckpt.pt", "meta.pkl"}, {"ckpt.pt"}},
      {{"model-00001-of-00002.safetensors"}, {"model-00001-of-00002.safetensors", "model.safetensors.index.json"}},
      {{"model-00001-of-00002.safetensors", "config.json"}, {"model-00001-of-00002.safetensors", "model.safetensors.index.json"}},
      {{"model.safetensors", "tokenizer.json"}, {"model.safetensors", "config.json"}},
      {{"pytorch_model.bin"}, {"pytorch_model.bin", "config.json"}},
      {{"refs/main", "snapshots/0123abcd/config.json"}, {"snapshots/0123abcd"}},
  };
  for (const Case& one : cases) {
    const TemporaryFolder to;
    for (const char* const file : one.files) {
      to.write(concat("model/", file), "{}");
    }
    const std::string message = error_of<InputError>([&] { require_no_other_layout(to / "model"); });
    EXPECT_TRUE(names(message, {to.path("model").c_str()}));
    for (const char* const word : one.words) {
      EXPECT_TRUE(names(message, {word}));
    }
    EXPECT_FALSE(error_of<InputError>([&] { ModelFiles{to / "model"}; }).empty());
  }
}

TEST(OtherLayouts, AreNotSeenInOtherFolders) {
  const TemporaryFolder to;
  EXPECT_EQ(other_layout_in(to / "nothing"), "");
  for (const char* const file : {"notes.txt", "checkpoints/step-000000001.h5", "config.toml"}) {
    to.write(concat("run/", file), "");
    EXPECT_EQ(other_layout_in(to / "run"), "") << file;
  }
  for (const char* const file : {"config.json", "model.safetensors", "model.gguf"}) {
    to.write(concat("hf/", file), "{}");
    EXPECT_EQ(other_layout_in(to / "hf"), "") << file;
  }
}

}  // namespace
}  // namespace dikkat
