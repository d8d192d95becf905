#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/stored_zip.h"
#include "tests/train/exchange/formats/support.h"
#include "train/exchange/formats/torch_file.h"
#include "train/system/pickle.h"

namespace dikkat {
namespace {

using testing::names;

using namespace formats_test;
using namespace std::string_literals;

std::string torch_error(const std::string& file) {
  const std::string message = input_error_of([&] { parse_torch(bytes_of_text(file), "x.pt"); });
  EXPECT_TRUE(names(message, {"x.pt"}));
  return message;
}

/// The error of reading an archive with this pickle, whose storage 0 has 16 bytes.
std::string error_of_pickle(const std::string& pickle, const std::string& storage = std::string(16, '\0')) {
  return torch_error(stored_zip({{"a/data.pkl", pickle}, {"a/data/0", storage}}));
}

std::string text(std::string_view characters) {
  return Bytes().raw("X").number(static_cast<std::uint32_t>(characters.size())).raw(characters).text();
}
std::string integer(std::int32_t value) { return Bytes().raw("J").number(value).text(); }
std::string dict(const std::string& items) { return "\x80\x02}(" + items + "u."; }
std::string ints(const std::vector<std::int32_t>& numbers) {
  std::string out = "(";
  for (const std::int32_t number : numbers) {
    out += integer(number);
  }
  return out + "t";
}
std::string tensor(const std::vector<std::int32_t>& shape, const std::vector<std::int32_t>& strides, std::int32_t offset = 0,
                   std::int32_t storage_elements = 4, const std::string& type = "FloatStorage", const std::string& key = "0") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") +
         integer(storage_elements) + "tQ" + integer(offset) + ints(shape) + ints(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

TEST(Torch, NanogptsCheckpointsAreRead) {
  const WeightFile file = open_torch(fixture("nanogpt.pt"));
  // The last of the names that share a parameter defines its numbers.
  for (const char* name : {"model/transformer.wte.weight", "model/lm_head.weight"}) {
    expect_tensor(file, name, WeightType::f32, {5, 4}, "transformer.wte.weight");
  }
  EXPECT_EQ(file.find("model/transformer.wte.weight")->data, file.find("model/lm_head.weight")->data) << "one storage";
  expect_tensor(file, "model/transformer.ln_f.weight", WeightType::f32, {4}, "transformer.ln_f.weight");
  EXPECT_EQ(file.find("optimizer/state/0/exp_avg")->shape, (std::vector<index>{5, 4}));
  EXPECT_EQ(read_all(*file.find("best_val_loss")), (std::vector<float>{1.5F}));
  EXPECT_EQ(file.find("best_val_loss")->shape, std::vector<index>{});

  EXPECT_EQ(file.value("model_args/n_layer")->integer(), 1);
  EXPECT_EQ(file.value("model_args/n_head")->integer(), 2);
  EXPECT_EQ(file.value("model_args/bias")->boolean(), false);
  EXPECT_EQ(file.value("model_args/dropout")->number(), 0.0);
  EXPECT_EQ(file.value("iter_num")->integer(), 70000);
  EXPECT_EQ(file.value("config/dataset")->string(), "shakespeare_\xC3\xA7har");
  EXPECT_EQ(file.value("config/compile")->boolean(), true);
  EXPECT_EQ(file.value("config/big")->integer(), index{1} << 40);
  EXPECT_EQ(file.value("config/negative")->integer(), -3);
  EXPECT_EQ(file.value("config/wandb")->type(), MetaType::none);
  EXPECT_EQ(file.value("config/learning_rate")->number(), 6e-4);
  EXPECT_EQ(file.value("optimizer/param_groups/0/betas/1")->number(), 0.95);
  EXPECT_EQ(file.value("optimizer/param_groups/0/params/2")->integer(), 2);
}

TEST(Torch, Protocol4IsReadToo) {
  const WeightFile file = open_torch(fixture("protocol4.pt"));
  expect_tensor(file, "model/transformer.wte.weight", WeightType::f32, {5, 4}, "transformer.wte.weight");
  EXPECT_EQ(file.value("model_args/n_embd")->integer(), 4);
}

TEST(Torch, TypesAndViewsAreRead) {
  const WeightFile file = open_torch(fixture("types.pt"));
  expect_tensor(file, "f64", WeightType::f64, {3});
  expect_tensor(file, "f16", WeightType::f16, {2, 2});
  expect_tensor(file, "bf16", WeightType::bf16, {5});
  expect_tensor(file, "empty", WeightType::f32, {0, 3});
  expect_tensor(file, "base", WeightType::f32, {3, 4});
  EXPECT_EQ(file.find("i64")->type_name, "LongStorage");
  EXPECT_EQ(file.find("bool")->type, WeightType::other);
  const std::vector<float> base = elements("base", 12);
  EXPECT_EQ(read_all(*file.find("row")), std::vector<float>(base.begin() + 4, base.begin() + 8));
  EXPECT_EQ(read_all(*file.find("scalar")), (std::vector<float>{2.5F}));
  float value = 0;
  EXPECT_TRUE(names(input_error_of([&] { read_f32(*file.find("transposed"), 0, 1, &value); }),
                    {"\"transposed\"", "FloatStorage", "strides [1, 4]", "[4, 3]", "f64, f32, f16, bf16, q8_0 or q4_0"}));
  EXPECT_EQ(file.find("column")->type, WeightType::other);
  EXPECT_EQ(file.value("lists/1/0")->number(), 2.5);
  EXPECT_EQ(file.value("lists/1/1")->string(), "a");
  EXPECT_EQ(file.value("lists/2/1")->type(), MetaType::none);
}

TEST(Torch, CodeIsNotRunAndIsNamed) {
  EXPECT_TRUE(names(torch_error(contents(fixture("evil.pt"))), {"byte 13", "\"posix.system\"", "model.state_dict()"}));
  EXPECT_TRUE(names(torch_error(contents(fixture("module.pt"))), {"\"__main__.Tiny\""}));
  EXPECT_TRUE(names(error_of_pickle("\x80\x04\x8C\x08"s
                                    "builtins\x8C\x04"s
                                    "eval\x93."),
                    {"\"builtins.eval\""}));
  EXPECT_TRUE(names(error_of_pickle("\x80\x02"s
                                    "ctorch\nload\n."),
                    {"\"torch.load\""}));
  EXPECT_TRUE(names(error_of_pickle("\x80\x02"s
                                    "ctorch._utils _rebuild_tensor_v2\n\n."),
                    {"\"torch._utils _rebuild_tensor_v2."}));
}

TEST(Torch, OlderFormsAreRefusedByTheirNames) {
  EXPECT_TRUE(names(torch_error(contents(fixture("before-1.6.pt"))), {"torch.save", "PyTorch 1.6"}));
  EXPECT_TRUE(names(torch_error(std::string(257, '\0') + "ustar"), {"torch.save", "PyTorch 0.1.10"}));
  EXPECT_TRUE(names(torch_error("hello"), {"zip", "torch.save"}));
}

TEST(Torch, AnInstructionThatIsNotNeededIsNamed) {
  const auto error = [](const std::string& pickle) { return error_of_pickle("\x80\x02" + pickle); };
  EXPECT_TRUE(names(error("i"), {"byte 2", "INST"}));
  EXPECT_TRUE(names(error("o"), {"byte 2", "OBJ"}));
  EXPECT_TRUE(names(error("N0"), {"byte 3", "POP"}));
  EXPECT_TRUE(names(error("\x81"), {"byte 2", "NEWOBJ"}));
  EXPECT_TRUE(names(error("\x82"), {"byte 2", "EXT1"}));
  EXPECT_TRUE(names(error("\x92"), {"byte 2", "NEWOBJ_EX"}));
  EXPECT_TRUE(names(error("P0\n"), {"byte 2", "PERSID"}));
  EXPECT_TRUE(names(error("\xFE"), {"byte 2", "254"}));
}

TEST(Torch, APickleThatGoesWrongIsRefused) {
  const auto error = [](const std::string& pickle) { return error_of_pickle("\x80\x02" + pickle); };
  EXPECT_TRUE(names(error(""), {"byte 2", "instruction", "1 bytes"}));
  EXPECT_TRUE(names(error_of_pickle("\x80\x01."), {"byte 0", "protocol 1", "2", "5"}));
  EXPECT_TRUE(names(error("."), {"byte 2", "not there"}));
  EXPECT_TRUE(names(error("N(."), {"byte 4", "not there"}));
  EXPECT_TRUE(names(error("NN."), {"byte 4", "stops"}));
  EXPECT_TRUE(names(error("t"), {"byte 2", "mark"}));
  EXPECT_TRUE(names(error("N\x86"), {"byte 3", "not there"}));
  EXPECT_TRUE(names(error("q\x01"), {"byte 2", "remember", "not there"}));
  EXPECT_TRUE(names(error("h\x01"), {"byte 2", "value 1", "remember"}));
  EXPECT_TRUE(names(error("]NNs"), {"byte 5", "to a list", "a dict"}));
  EXPECT_TRUE(names(error("}Na"), {"byte 4", "to a dict", "a list"}));
  EXPECT_TRUE(names(error("}(Nu"), {"byte 5", "key", "value", "dict"}));
  EXPECT_TRUE(names(error("cabc"), {"byte 2", "name", "end"}));
  EXPECT_TRUE(names(error("NN\x93"), {"byte 4", "names", "text"}));
  EXPECT_TRUE(names(error("NQ"), {"byte 3", "persistent id", "five"}));
  EXPECT_TRUE(names(error("(NNNNNtQ"), {"byte 9", "persistent id", "(\"storage\", type, key, device, elements)"}));
  EXPECT_TRUE(names(error("NNR"), {"byte 4", "calls None"}));
  EXPECT_TRUE(names(error("ctorch\nFloatStorage\n)R"), {"byte 23", "\"torch FloatStorage\""}));
  EXPECT_TRUE(names(error("ccollections\nOrderedDict\nN\x85R"), {"byte 29", "OrderedDict", "1 arguments"}));
  EXPECT_TRUE(
      names(error("ctorch._utils\n_rebuild_tensor_v2\n)R"), {"byte 36", "(storage, offset, shape, strides, requires_grad, hooks)"}));
  EXPECT_TRUE(names(error("]}b"), {"byte 4", "attributes", "a list", "a dict"}));
  EXPECT_TRUE(names(error("}Nb"), {"byte 4", "attributes", "a dict", "None"}));
  EXPECT_TRUE(names(error("\x8A\x09" + std::string(9, 'x')), {"byte 2", "9 bytes", "8"}));
  EXPECT_TRUE(names(error("\x95"s + std::string(8, '\xFF')), {"byte 2", "frame", "18446744073709551615", "0"}));
  EXPECT_TRUE(names(error(Bytes().raw("\x8D").number(~std::uint64_t{0}).text()), {"byte 11", "a text", "18446744073709551615"}));
}

TEST(Torch, LongIntsHaveTheirSign) {
  const auto value = [](const std::string& bytes) {
    const std::string pickle = dict(text("k") + "\x8A" + static_cast<char>(bytes.size()) + bytes);
    const std::string file = stored_zip({{"a/data.pkl", pickle}});
    return parse_torch(bytes_of_text(file), "f").value("k")->integer();
  };
  EXPECT_EQ(value(""), 0);
  EXPECT_EQ(value("\xFF"), -1);
  EXPECT_EQ(value("\xFF\x00"s), 255);
  EXPECT_EQ(value("\x00\x80"s), -32768);
  EXPECT_EQ(value("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"), std::numeric_limits<index>::max());
}

TEST(Torch, ATensorThatDoesNotFitIsRefused) {
  const auto error = [](const std::string& made) { return error_of_pickle(dict(text("t") + made)); };
  const std::string fits = stored_zip({{"a/data.pkl", dict(text("t") + tensor({2, 2}, {2, 1}))}, {"a/data/0", std::string(16, '\0')}});
  EXPECT_EQ(parse_torch(bytes_of_text(fits), "f").find("t")->elements, 4);
  EXPECT_TRUE(names(error(tensor({2, 2}, {2, 1}, 1)), {"\"t\"", "FloatStorage [2, 2]", "element 1", "4", "16 bytes"}));
  EXPECT_TRUE(names(error(tensor({5}, {1})), {"\"t\"", "FloatStorage [5]", "element 0", "4", "16 bytes"}));
  EXPECT_TRUE(names(error(tensor({5}, {1}, 0, 5)), {"\"t\"", "FloatStorage [5]", "element 0", "5", "16 bytes"}));
  EXPECT_TRUE(names(error(tensor({2147483647, 2147483647, 2147483647}, {1, 1, 1})),
                    {"\"t\"", "FloatStorage [2147483647, 2147483647, 2147483647]", "element 0", "4", "16 bytes"}));
  EXPECT_TRUE(names(error(tensor({4}, {1}, 0, 4, "FloatStorage", "7")), {"\"t\"", "missing", "data/7"}));
  EXPECT_TRUE(names(error(tensor({4}, {1, 1})), {"1 extents", "2 strides"}));
  EXPECT_TRUE(names(error(tensor({-1}, {1})), {"shape", "ints of 0"}));
  EXPECT_TRUE(names(error(tensor({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})), {"shape", "8 ints"}));
}

TEST(Torch, ADictThatHoldsItselfOrTooMuchEndsInASentence) {
  EXPECT_TRUE(names(error_of_pickle("\x80\x02}q\x01" + text("k") + "h\x01s."), {"nested", [] {
                                                                                  std::string path = "k";
                                                                                  for (int i = 1; i < 65; ++i) {
                                                                                    path += "/k";
                                                                                  }
                                                                                  return path.substr(0, 100) + "...\"";
                                                                                }()}));
  std::string doubled = "]q\x01";  // each tuple holds the one before twice: 2^40 names
  for (int i = 1; i < 40; ++i) {
    doubled += std::string("h") + static_cast<char>(i) + "h" + static_cast<char>(i) + "\x86" + "q" + static_cast<char>(i + 1);
  }
  doubled = "\x80\x02}" + text("k") + "(" + doubled + "ts.";
  EXPECT_TRUE(names(error_of_pickle(doubled), {"nested", "\"k/"}));
  EXPECT_TRUE(names(error_of_pickle("\x80\x02]."), {"torch.save", "dict"}));
  EXPECT_TRUE(names(error_of_pickle(dict("N" + integer(1))), {"\"\"", "key", "text", "int"}));
  EXPECT_TRUE(names(error_of_pickle(dict(text("k") + "ctorch\nFloatStorage\n")), {"\"k\"", "tensor", "plain"}));
  EXPECT_TRUE(names(error_of_pickle(dict(text("k") + "N" + text("k") + "N")), {"two values", "\"k\""}));
}

TEST(Torch, MoreThanAnyModelHasIsRefused) {
  // The pickle is a list of 600 lists, all of which are one list of 600 values.
  std::string inner = "](";
  std::string outer = "](";
  for (int i = 0; i < 600; ++i) {
    inner += 'N';
    outer += std::string("h\x01", 2);
  }
  const std::string pickle = dict(text("a") + inner + "eq\x01" + text("b") + outer + "e");
  const std::string message = error_of_pickle(pickle + std::string(20000, '.'));  // the bytes after it allow it to name more
  EXPECT_TRUE(names(message, {"1048576", "262144"}));
}

TEST(Zip, ArchivesOf32And64BitsAreRead) {
  const std::string pickle = dict(text("k") + integer(5));
  for (const bool zip64 : {false, true}) {
    const std::string file = stored_zip({{"a/version", "3\n"}, {"a/data.pkl", pickle}, {"a/data/", ""}, {"a/byteorder", "little"}}, zip64);
    EXPECT_EQ(parse_torch(bytes_of_text(file), "f").value("k")->integer(), 5);
  }
  std::string commented = stored_zip({{"a/data.pkl", pickle}});
  commented[commented.size() - 2] = 3;
  EXPECT_EQ(parse_torch(bytes_of_text(commented + "abc"), "f").value("k")->integer(), 5) << "a comment follows";
}

TEST(Zip, AnArchiveThatIsDamagedIsRefused) {
  const std::string pickle = dict(text("k") + integer(5));
  const std::string whole = stored_zip({{"a/data.pkl", pickle}});
  const std::size_t directory = whole.find("PK\x01\x02");
  const auto changed = [&](std::size_t at, std::string_view bytes) {
    std::string file = whole;
    file.replace(at, bytes.size(), bytes);
    return torch_error(file);
  };
  EXPECT_TRUE(names(changed(whole.size() - 22, "XX"), {"zip directory", "cut off"}));
  EXPECT_TRUE(names(changed(whole.size() - 10, "\xFF\xFF\xFF\x7F"),
                    {"zip directory", concat("byte ", directory), "2147483647 bytes", concat(whole.size())}));
  EXPECT_TRUE(names(changed(whole.size() - 6, "\xFF\xFF\xFF\x7F"), {"zip directory", "byte 2147483647", "56 bytes", concat(whole.size())}));
  EXPECT_TRUE(names(changed(whole.size() - 12, "\x02"), {"zip directory", concat("byte ", whole.size() - 22), "46 bytes"}));
  EXPECT_TRUE(names(changed(directory, "XX"), {"zip directory", "no entry", concat("byte ", directory)}));
  EXPECT_TRUE(names(changed(directory + 8, "\x01"), {"\"a/data.pkl\"", "encrypted"}));
  EXPECT_TRUE(names(changed(directory + 10, "\x08"), {"\"a/data.pkl\"", "compressed", "method 8"}));
  EXPECT_TRUE(names(changed(directory + 20, "\xFF\xFF\xFF\xFF"), {"\"a/data.pkl\"", "zip64"}));
  EXPECT_TRUE(names(changed(directory + 42, "\xFF\xFF\xFF\x7F"), {"\"a/data.pkl\"", "byte 2147483647", concat(whole.size())}));
  EXPECT_TRUE(names(changed(directory + 42, "\x01"), {"\"a/data.pkl\"", "header", "byte 1"}));
  EXPECT_TRUE(names(changed(30, "X"), {"\"a/data.pkl\"", "\"X/data.pkl\"", "byte 0"}));
  EXPECT_TRUE(names(torch_error(stored_zip({{"a/x", ""}})), {"zip", "data.pkl", "torch.save"}));
  EXPECT_TRUE(names(torch_error(stored_zip({{"a/data.pkl", pickle}, {"a/byteorder", "big"}})), {"big-endian"}));
  EXPECT_TRUE(names(torch_error(stored_zip({{"a/data.pkl", pickle}, {"a/data.pkl", pickle}})), {"two files", "\"a/data.pkl\""}));
}

TEST(Torch, EveryCutOfAFileIsRefused) {
  const std::string whole = contents(fixture("types.pt"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(torch_error(whole.substr(0, size)), "") << size;
  }
}

}  // namespace
}  // namespace dikkat
