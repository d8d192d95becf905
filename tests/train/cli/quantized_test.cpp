#include "tests/train/cli/workspace.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/formats/ggml_types.h"
#include "train/exchange/formats/gguf_reader.h"
#include "train/exchange/formats/gguf_writer.h"

// GGUF files of quantized types, on the command line. No program of ours writes them, so the blocks are random: each is a valid one.
namespace dikkat::testing {
namespace {

template <class T>
void append(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void pad(std::string& out) { out.resize(static_cast<std::size_t>(round_up(static_cast<index>(out.size()), kGgufAlignment))); }

/// Returns `count` blocks of random bytes, with f16 scales of about 2^-14, or 2^-10 for short blocks.
std::string random_blocks(const GgmlType& type, index count) {
  std::string bytes(static_cast<std::size_t>(count * type.layout.bytes), '\0');
  std::uint32_t state = type.number;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  const auto size = static_cast<std::size_t>(type.layout.bytes);
  const std::vector<std::size_t> scales = type.name == "q2_K"   ? std::vector<std::size_t>{80, 82}
                                          : type.name == "q3_K" ? std::vector<std::size_t>{108}
                                          : type.name == "q6_K" ? std::vector<std::size_t>{208}
                                                                : std::vector<std::size_t>{0, 2};
  for (std::size_t block = 0; block < bytes.size(); block += size) {
    for (const std::size_t scale : scales) {
      bytes[block + scale + 1] = type.layout.elements == 256 ? 0x04 : 0x14;
    }
  }
  return bytes;
}

/// Returns the GGUF file with random blocks of these types in place of its matrices, which take the types in turn.
std::string quantized(const std::string& f32, const Words& types) {
  const WeightFile file = parse_gguf(std::as_bytes(std::span(f32)), "f32.gguf");
  std::string first;  // the first description begins with the length of a name, and the name
  append(first, std::uint64_t{file.tensors().front().name.size()});
  std::string out = f32.substr(0, f32.find(first + file.tensors().front().name));
  std::string data;
  std::size_t matrices = 0;
  for (const WeightTensor& tensor : file.tensors()) {
    const bool is_matrix = tensor.shape.size() == 2;
    const std::string_view name = is_matrix ? types[matrices++ % types.size()] : "f32";
    const GgmlType& type = *std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(), [&](const GgmlType& t) { return t.name == name; });
    append(out, std::uint64_t{tensor.name.size()});
    out += tensor.name;
    append(out, static_cast<std::uint32_t>(tensor.shape.size()));
    std::for_each(tensor.shape.rbegin(), tensor.shape.rend(), [&](index extent) { append(out, static_cast<std::uint64_t>(extent)); });
    append(out, type.number);
    append(out, std::uint64_t{data.size()});
    data += is_matrix ? random_blocks(type, tensor.elements / type.layout.elements)
                      : std::string(reinterpret_cast<const char*>(tensor.data), static_cast<std::size_t>(tensor.bytes));
    pad(data);
  }
  pad(out);
  return out + data;
}

std::vector<float> numbers_of(const WeightTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements));
  read_f32(tensor, 0, tensor.elements, values.data());
  return values;
}

class Quantized : public ::testing::Test {
 protected:
  Quantized() {
    here.train("run", {"tokenizer.kind=bpe", "tokenizer.vocab_size=280", "model.norm=rms_norm", "model.positions=rope", "model.n_kv_head=1",
                       "model.activation=silu", "model.gated=true", "model.bias=false", "model.n_layer=1", "model.n_embd=256",
                       "model.n_hidden=256", "train.max_steps=1", "train.eval_tokens=64"});
    EXPECT_EQ(here.run({"export", "run", "--out", "hf"}).code, 0);
    Json config = Json::parse(contents(here / "hf/tokenizer_config.json"));
    config["chat_template"] = kTemplate;
    here.write("hf/tokenizer_config.json", config.dump());
    EXPECT_EQ(here.run({"export", "hf", "--out", "f32.gguf"}).code, 0);
    here.write("k.gguf", quantized(contents(here / "f32.gguf"), {"q6_K", "q4_K", "q5_K", "q3_K", "q2_K", "iq4_xs", "q5_0", "q4_K"}));
  }
  WeightFile open(const std::string& name) const { return open_gguf((here / name).string()); }
  std::string sample_of(const std::string& model) const {
    const Outcome outcome = here.run({"sample", model, "--prompt", "a", "--temperature", "0", "--max-new-tokens", "12", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out)["samples"].dump();
  }
  static constexpr const char* kTemplate = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + \"\\n\" }}{% endfor %}";
  Workspace here;
};

TEST_F(Quantized, FilesAreTheModelOfTheirNumbers) {
  // A file of f32 with the same numbers is the same model.
  const WeightFile file = open("k.gguf");
  std::vector<NewTensor> tensors;
  std::vector<std::vector<float>> numbers;
  for (const WeightTensor& tensor : file.tensors()) {
    numbers.push_back(numbers_of(tensor));
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    tensors.push_back(new_tensor(file.tensors()[i].name, WeightType::f32, file.tensors()[i].shape, numbers[i].data()));
  }
  write_gguf((here / "same.gguf").string(), file.metadata(), tensors);
  EXPECT_EQ(sample_of("k.gguf"), sample_of("same.gguf"));
  const Outcome chat = here.run({"chat", "k.gguf"}, {.input = "a\n"});
  EXPECT_EQ(chat.code, 0) << chat.err;

  // An export has the same numbers.
  ASSERT_EQ(here.run({"export", "k.gguf", "--out", "back.gguf"}).code, 0);
  const WeightFile back = open("back.gguf");
  for (const WeightTensor& tensor : file.tensors()) {
    ASSERT_NE(back.find(tensor.name), nullptr) << tensor.name;
    EXPECT_EQ(numbers_of(*back.find(tensor.name)), numbers_of(tensor)) << tensor.name;
  }

  // What a file mixes is shown.
  const Outcome shown = here.run({"inspect", "k.gguf", "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const Json types = Json::parse(shown.out)["types"];
  EXPECT_EQ(types["q6_K"], (Json{{"tensors", 1}, {"elements", 280 * 256}, {"bytes", 280 * 210}}));
  EXPECT_EQ(types["q4_K"]["tensors"], 2);
  EXPECT_EQ(types["f32"]["tensors"], 3);
  expect_named(here.run({"inspect", "k.gguf"}).out, {"q2_K", "iq4_xs", "59 KB"});
}

TEST_F(Quantized, AFileIsRecognizedByItsFirstBytes) {
  // Ollama's files have no ending. Other endings do not mislead.
  for (const char* const name : {"blobs/sha256-735af2139dc6", "named.safetensors", "named.txt"}) {
    SCOPED_TRACE(name);
    here.write(name, contents(here / "k.gguf"));
    EXPECT_EQ(sample_of(name), sample_of("k.gguf"));
    const std::string out = concat(name, ".out.gguf");
    for (const Words& command : {Words{"inspect", name},
                                 {"chat", name, "--template", "plain"},
                                 {"eval", name, "--corpus", "text.txt"},
                                 {"export", name, "--out", out},
                                 {"tokenizer", "inspect", name}}) {
      const Outcome outcome = here.run(command);
      EXPECT_EQ(outcome.code, 0) << command[0] << ": " << outcome.err;
    }
    EXPECT_EQ(sample_of(out), sample_of("k.gguf"));
  }
  const Outcome tuned = here.run({"finetune", "blobs/sha256-735af2139dc6", "--data", "text.txt", "--out", "tuned", "--set",
                                  "train.max_steps=1", "train.eval_tokens=64"});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(here.run({"export", "tuned", "--out", "tuned.gguf"}).code, 0) << "with the base's file";
  here.write("blobs/sha256-0", contents(here / "k.gguf").substr(0, 3));
  expect_refused(here, {"inspect", "blobs/sha256-0"}, {"blobs/sha256-0"});
}

TEST_F(Quantized, AFileIsTunedAndExportedWithItsTokenizerAndTemplate) {
  std::string pairs;
  for (const char* word : {"the", "lamp", "turns", "ships", "go", "night"}) {
    pairs += Json{{"prompt", word}, {"completion", word}}.dump() + "\n";
  }
  here.write("pairs.jsonl", pairs);
  const Outcome tuned = here.run({"finetune", "k.gguf", "--data", "pairs.jsonl", "--out", "tuned", "--set", "train.max_steps=2",
                                  "train.batch_size=2", "optim.warmup_steps=1", "data.split=end"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  const Outcome exported = here.run({"export", "tuned", "--out", "tuned.gguf", "--newest"});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(sample_of("tuned.gguf"), sample_of("tuned"));
  const WeightFile before = open("k.gguf"), after = open("tuned.gguf");
  EXPECT_EQ(after.value("tokenizer.chat_template")->string(), kTemplate);
  EXPECT_EQ(after.value("tokenizer.ggml.tokens")->array()->strings(), before.value("tokenizer.ggml.tokens")->array()->strings());
  EXPECT_NE(numbers_of(*after.find("blk.0.ffn_up.weight")), numbers_of(*before.find("blk.0.ffn_up.weight"))) << "trained";
  EXPECT_EQ(numbers_of(*after.find("token_embd.weight")), numbers_of(*before.find("token_embd.weight"))) << "frozen";
}

TEST_F(Quantized, DamagedFilesAndOtherTypesAreRefused) {
  const std::string whole = contents(here / "k.gguf");
  const WeightFile file = open("k.gguf");
  const auto expect_refusals = [&](const std::string& bytes, const Words& fragments) {
    here.write("bad.gguf", bytes);
    for (const Words& command : {Words{"eval", "bad.gguf", "--corpus", "text.txt"}, Words{"export", "bad.gguf", "--out", "no.gguf"},
                                 Words{"finetune", "bad.gguf", "--data", "text.txt", "--out", "no"}}) {
      expect_refused(here, command, fragments);
    }
  };
  expect_refusals(whole.substr(0, whole.size() - 40), {"bad.gguf", file.tensors().back().name, "cut off"});
  std::string bytes = whole;
  const WeightTensor& bad = *file.find("blk.0.attn_q.weight");
  ASSERT_EQ(bad.type_name, "q4_K");
  const std::size_t scale = whole.size() - static_cast<std::size_t>(file.tensors().back().data - bad.data) -
                            static_cast<std::size_t>(round_up(file.tensors().back().bytes, kGgufAlignment));
  bytes[scale + 144 + 1] = 0x7E;  // the scale of the second block
  expect_refusals(bytes, {"blk.0.attn_q.weight", "q4_K", "finite"});
  expect_refusals(quantized(contents(here / "f32.gguf"), {"iq3_s"}), {"bad.gguf", "token_embd.weight (iq3_s)", "llama-quantize", "Q8_0"});
}

}  // namespace
}  // namespace dikkat::testing
