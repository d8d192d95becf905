#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/exchange/formats/stored_zip.h"
#include "tests/train/exchange/formats/support.h"
#include "train/exchange/formats/pickle.h"
#include "train/exchange/formats/torch_file.h"

namespace dikkat {
namespace {

using namespace formats_test;
using namespace std::string_literals;

std::string torch_error(const std::string& file) {
  return input_error_of([&] { parse_torch(bytes_of_text(file), "f"); });
}

/// What reading says of an archive with this pickle, whose storage 0 has 16 bytes.
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

TEST(Torch, WhatNanogptSavesIsRead) {
  const WeightFile file = open_torch(fixture("nanogpt.pt"));
  // The last of the names that share a parameter gave it its numbers.
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
  EXPECT_EQ(
      input_error_of([&] { read_f32(*file.find("transposed"), 0, 1, &value); }),
      "tensor \"transposed\" (FloatStorage with strides [1, 4] [4, 3]): its elements cannot be converted, expected f64, f32, f16, bf16, "
      "q8_0 or q4_0");
  EXPECT_EQ(file.find("column")->type, WeightType::other);
  EXPECT_EQ(file.value("lists/1/0")->number(), 2.5);
  EXPECT_EQ(file.value("lists/1/1")->string(), "a");
  EXPECT_EQ(file.value("lists/2/1")->type(), MetaType::none);
}

TEST(Torch, CodeIsNotRunAndIsNamed) {
  EXPECT_EQ(
      torch_error(contents(fixture("evil.pt"))),
      "f: the pickle, at its byte 13, asks for \"posix.system\", which a dict of tensors and plain values does not need; nothing was run: "
      "save model.state_dict() and plain values");
  EXPECT_NE(torch_error(contents(fixture("module.pt"))).find("asks for \"__main__.Tiny\""), std::string::npos);
  EXPECT_NE(error_of_pickle("\x80\x04\x8C\x08"s
                            "builtins\x8C\x04"s
                            "eval\x93.")
                .find("asks for \"builtins.eval\""),
            std::string::npos);
  EXPECT_NE(error_of_pickle("\x80\x02"s
                            "ctorch\nload\n.")
                .find("asks for \"torch.load\""),
            std::string::npos);
  EXPECT_NE(error_of_pickle("\x80\x02"s
                            "ctorch._utils _rebuild_tensor_v2\n\n.")
                .find("asks for"),
            std::string::npos);
}

TEST(Torch, OlderFormsAreRefusedByTheirNames) {
  EXPECT_EQ(torch_error(contents(fixture("before-1.6.pt"))),
            "f: it is in the form in which torch.save wrote before PyTorch 1.6: load it with PyTorch and save it again");
  EXPECT_EQ(torch_error(std::string(257, '\0') + "ustar"),
            "f: it is in the form in which torch.save wrote before PyTorch 0.1.10: load it with PyTorch and save it again");
  EXPECT_EQ(torch_error("hello"), "f: it is no zip archive, expected a file of torch.save");
}

TEST(Torch, AnInstructionThatIsNotNeededIsNamed) {
  const auto error = [](const std::string& pickle) { return error_of_pickle("\x80\x02" + pickle); };
  constexpr const char* kRest = ", which a dict of tensors and plain values does not need; it was not followed";
  EXPECT_EQ(error("i"), concat("f: the pickle, at its byte 2, has the instruction INST", kRest));
  EXPECT_EQ(error("o"), concat("f: the pickle, at its byte 2, has the instruction OBJ", kRest));
  EXPECT_EQ(error("N0"), concat("f: the pickle, at its byte 3, has the instruction POP", kRest));
  EXPECT_EQ(error("\x81"), concat("f: the pickle, at its byte 2, has the instruction NEWOBJ", kRest));
  EXPECT_EQ(error("\x82"), concat("f: the pickle, at its byte 2, has the instruction EXT1", kRest));
  EXPECT_EQ(error("\x92"), concat("f: the pickle, at its byte 2, has the instruction NEWOBJ_EX", kRest));
  EXPECT_EQ(error("P0\n"), concat("f: the pickle, at its byte 2, has the instruction PERSID", kRest));
  EXPECT_EQ(error("\xFE"), concat("f: the pickle, at its byte 2, has the instruction 254", kRest));
}

TEST(Torch, APickleThatGoesWrongIsRefused) {
  const auto error = [](const std::string& pickle) {
    const std::string message = error_of_pickle("\x80\x02" + pickle);
    constexpr std::string_view kBegin = "f: the pickle, at its byte ";
    return message.starts_with(kBegin) ? message.substr(kBegin.size()) : message;
  };
  EXPECT_EQ(error(""), "f: the file ends at byte 2, and an instruction of the pickle at byte 2 is to have 1 bytes");
  EXPECT_EQ(error_of_pickle("\x80\x01."), "f: the pickle, at its byte 0, has protocol 1, expected 2 to 5");
  EXPECT_EQ(error("."), "2, takes a value that is not there");
  EXPECT_EQ(error("N(."), "4, takes a value that is not there");
  EXPECT_EQ(error("NN."), "4, stops while values are left");
  EXPECT_EQ(error("t"), "2, goes back to a mark that is not there");
  EXPECT_EQ(error("N\x86"), "3, takes values that are not there");
  EXPECT_EQ(error("q\x01"), "2, remembers a value that is not there");
  EXPECT_EQ(error("h\x01"), "2, recalls value 1, which it has not remembered");
  EXPECT_EQ(error("]NNs"), "5, adds items to a list, expected a dict");
  EXPECT_EQ(error("}Na"), "4, adds items to a dict, expected a list");
  EXPECT_EQ(error("}(Nu"), "5, adds a key without a value to a dict");
  EXPECT_EQ(error("cabc"), "2, has a name that does not end");
  EXPECT_EQ(error("NN\x93"), "4, names something by what is no text");
  EXPECT_EQ(error("NQ"), "3, has a persistent id that is no tuple of five");
  EXPECT_EQ(error("(NNNNNtQ"), "9, has a persistent id that is not (\"storage\", type, key, device, elements)");
  EXPECT_EQ(error("NNR"), "4, calls None with None");
  EXPECT_EQ(error("ctorch\nFloatStorage\n)R"), "23, calls \"torch FloatStorage\"");
  EXPECT_EQ(error("ccollections\nOrderedDict\nN\x85R"), "29, calls OrderedDict with 1 arguments, expected none");
  EXPECT_EQ(error("ctorch._utils\n_rebuild_tensor_v2\n)R"),
            "36, rebuilds a tensor, expected (storage, offset, shape, strides, requires_grad, hooks)");
  EXPECT_EQ(error("]}b"), "4, sets the attributes of a list from a dict, expected a dict and a dict");
  EXPECT_EQ(error("}Nb"), "4, sets the attributes of a dict from None, expected a dict and a dict");
  EXPECT_EQ(error("\x8A\x09" + std::string(9, 'x')), "2, has an int of 9 bytes, expected at most 8");
  EXPECT_EQ(error("\x95"s + std::string(8, '\xFF')), "2, begins a frame of 18446744073709551615 bytes, and 0 follow");
  EXPECT_EQ(error(Bytes().raw("\x8D").number(~std::uint64_t{0}).text()),
            "f: the file ends at byte 11, and a text at byte 11 is to have 18446744073709551615 bytes");
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
  EXPECT_EQ(error(tensor({2, 2}, {2, 1}, 1)),
            "f: tensor \"t\" (FloatStorage [2, 2]) is to begin at element 1 of a storage of 4, whose file has 16 bytes: it does not fit");
  EXPECT_EQ(error(tensor({5}, {1})),
            "f: tensor \"t\" (FloatStorage [5]) is to begin at element 0 of a storage of 4, whose file has 16 bytes: it does not fit");
  EXPECT_EQ(error(tensor({5}, {1}, 0, 5)),
            "f: tensor \"t\" (FloatStorage [5]) is to begin at element 0 of a storage of 5, whose file has 16 bytes: it does not fit");
  EXPECT_EQ(
      error(tensor({2147483647, 2147483647, 2147483647}, {1, 1, 1})),
      "f: tensor \"t\" (FloatStorage [2147483647, 2147483647, 2147483647]) is to begin at element 0 of a storage of 4, whose file has 16 "
      "bytes: it does not fit");
  EXPECT_EQ(error(tensor({4}, {1}, 0, 4, "FloatStorage", "7")),
            "f: the elements of tensor \"t\" are missing: the archive has no file data/7");
  EXPECT_NE(error(tensor({4}, {1, 1})).find("rebuilds a tensor of 1 extents and 2 strides"), std::string::npos);
  EXPECT_NE(error(tensor({-1}, {1})).find("rebuilds a tensor whose shape has an int, expected ints of 0 or more"), std::string::npos);
  EXPECT_NE(error(tensor({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})).find("rebuilds a tensor whose shape is no tuple of at most 8 ints"),
            std::string::npos);
}

TEST(Torch, ADictThatHoldsItselfOrTooMuchEndsInASentence) {
  EXPECT_EQ(
      error_of_pickle("\x80\x02}q\x01" + text("k") + "h\x01s."), "f: its dicts and lists are nested too deeply, at \"" + [] {
        std::string path = "k";
        for (int i = 1; i < 65; ++i) {
          path += "/k";
        }
        return path.substr(0, 100) + "...\"";
      }());
  std::string doubled = "]q\x01";  // each tuple holds the one before twice: 2^40 names
  for (int i = 1; i < 40; ++i) {
    doubled += std::string("h") + static_cast<char>(i) + "h" + static_cast<char>(i) + "\x86" + "q" + static_cast<char>(i + 1);
  }
  doubled = "\x80\x02}" + text("k") + "(" + doubled + "ts.";
  EXPECT_NE(error_of_pickle(doubled).find("f: its dicts and lists are nested too deeply, at \"k/"), std::string::npos);
  EXPECT_EQ(error_of_pickle("\x80\x02]."), "f: torch.save was given something else than a dict, expected a dict of tensors and values");
  EXPECT_EQ(error_of_pickle(dict("N" + integer(1))), "f: the dict \"\" has a key that is neither a text nor an int");
  EXPECT_EQ(error_of_pickle(dict(text("k") + "ctorch\nFloatStorage\n")), "f: \"k\" is neither a tensor nor a plain value");
  EXPECT_EQ(error_of_pickle(dict(text("k") + "N" + text("k") + "N")), "f: it has two values named \"k\"");
}

TEST(Torch, MoreThanAnyModelHasIsRefused) {
  // A list of 600 lists, each the same one of 600 values.
  std::string inner = "](";
  std::string outer = "](";
  for (int i = 0; i < 600; ++i) {
    inner += 'N';
    outer += std::string("h\x01", 2);
  }
  const std::string pickle = dict(text("a") + inner + "eq\x01" + text("b") + outer + "e");
  const std::string message = error_of_pickle(pickle + std::string(20000, '.'));  // what follows lets it name more
  EXPECT_EQ(message, "f: it has more than 1048576 tensors or 262144 values");
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
  EXPECT_EQ(changed(whole.size() - 22, "XX"), "f: it has no zip directory at its end: it is cut off");
  EXPECT_EQ(changed(whole.size() - 10, "\xFF\xFF\xFF\x7F"), concat("f: its zip directory is said to lie at byte ", directory,
                                                                   " and to have 2147483647 bytes, and the file has ", whole.size()));
  EXPECT_EQ(changed(whole.size() - 6, "\xFF\xFF\xFF\x7F"),
            concat("f: its zip directory is said to lie at byte 2147483647 and to have 56 bytes, and the file has ", whole.size()));
  EXPECT_EQ(changed(whole.size() - 12, "\x02"),
            concat("f: the file ends at byte ", whole.size() - 22, ", and an entry of the zip directory at byte ", whole.size() - 22,
                   " is to have 46 bytes"));
  EXPECT_EQ(changed(directory, "XX"), concat("f: the zip directory has no entry at byte ", directory));
  EXPECT_EQ(changed(directory + 8, "\x01"), "f: the zip entry \"a/data.pkl\" is encrypted, which torch.save never does");
  EXPECT_EQ(
      changed(directory + 10, "\x08"),
      "f: the zip entry \"a/data.pkl\" is compressed (method 8), expected files that are stored as they are, as torch.save writes them");
  EXPECT_EQ(changed(directory + 20, "\xFF\xFF\xFF\xFF"), "f: the zip entry \"a/data.pkl\" lacks its zip64 numbers");
  EXPECT_EQ(changed(directory + 42, "\xFF\xFF\xFF\x7F"),
            concat("f: the zip entry \"a/data.pkl\" is said to lie at byte 2147483647 of ", whole.size()));
  EXPECT_EQ(changed(directory + 42, "\x01"), "f: the zip entry \"a/data.pkl\" has no header at byte 1");
  EXPECT_EQ(changed(30, "X"), "f: the zip entry \"a/data.pkl\" is called \"X/data.pkl\" at byte 0");
  EXPECT_EQ(torch_error(stored_zip({{"a/x", ""}})), "f: its zip archive has no data.pkl in a folder, expected a file of torch.save");
  EXPECT_EQ(torch_error(stored_zip({{"a/data.pkl", pickle}, {"a/byteorder", "big"}})),
            "f: it was written on a big-endian machine, expected a little-endian one");
  EXPECT_EQ(torch_error(stored_zip({{"a/data.pkl", pickle}, {"a/data.pkl", pickle}})),
            "f: its zip archive has two files named \"a/data.pkl\"");
}

TEST(Torch, EveryCutOfAFileIsRefused) {
  const std::string whole = contents(fixture("types.pt"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(torch_error(whole.substr(0, size)), "") << size;
  }
}

}  // namespace
}  // namespace dikkat
