#include "train/text/hugging_face/symbols.h"

#include <functional>
#include <tuple>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/tokenizer_file.h"
#include "train/text/tokenizer_kinds.h"
#include "train/text/word_tokenizer.h"

// Vocabularies of given strings. scripts/clients.sh compares them with Hugging Face's library.
namespace dikkat {
namespace {

using namespace std::string_literals;
using nlohmann::json;
using testing::error_of;
using testing::names;
using Ids = std::vector<Token>;

PipelineTokenizer symbols(std::vector<std::string> list, SymbolSplit split) {
  return PipelineTokenizer(symbol_pipeline(completed(std::move(list)), split));
}
PipelineTokenizer moves() { return symbols({"e4", "e5", "Nf3", "O-O", "e"}, SymbolSplit::spaces); }  // then "\n" is 5 and the end 6
PipelineTokenizer codons() { return symbols({"A", "C", "G", "ACG", "ACGA", "[x]", "a b"}, SymbolSplit::longest); }  // "\n" is 7, the end 8

EncodeError refusal(const Tokenizer& tokenizer, std::string_view text) {
  try {
    tokenizer.encode(text);
  } catch (const EncodeError& error) {
    return error;
  }
  ADD_FAILURE() << text << " was not refused";
  return {-1, ""};
}

TEST(Symbols, WithSpacesAreWordsAndLineBreaks) {
  const PipelineTokenizer tokenizer = moves();
  EXPECT_EQ(tokenizer.vocab_size(), 7);
  EXPECT_EQ(tokenizer.kind(), "symbols");
  EXPECT_EQ(tokenizer.separator(), 6);
  EXPECT_EQ(tokenizer.text_tokens().ends, Ids{6});
  for (const auto& [text, ids] : std::vector<std::pair<std::string, Ids>>{
           {"", {}}, {"e4", {0}}, {"e4 e5 Nf3", {0, 1, 2}}, {"e4 e5\nO-O e\n\n\ne4\n", {0, 1, 5, 3, 4, 5, 5, 5, 0, 5}}, {"\n", {5}}}) {
    EXPECT_EQ(tokenizer.encode(text), ids);
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  EXPECT_EQ(tokenizer.encode("  e4   e5 \n e "), (Ids{0, 1, 5, 4})) << "more spaces change nothing";
  EXPECT_EQ(tokenizer.decode(Ids{0, 6, 1}), "e4 <|endoftext|> e5");
  EXPECT_EQ(tokenizer.decode_inside(Ids{0, 1}), " e4 e5");
  EXPECT_EQ(tokenizer.decode_inside(Ids{5, 1}), "\ne5");
  EXPECT_EQ(tokenizer.encode_with_special("e4 <|endoftext|> e5"), (Ids{0, 6, 1}));
  EXPECT_FALSE(tokenizer.is_lossless()) << "spaces are no token's bytes";
}

TEST(Symbols, ATextWithAnotherSymbolIsRefusedWithItsPlace) {
  const PipelineTokenizer tokenizer = moves();
  for (const auto& [text, at, symbol] :
       std::vector<std::tuple<std::string, index, std::string>>{{"e4 e5\ne4 e45 e5", 9, "\"e45\""},
                                                                {"e4 <|endoftext|>", 3, "\"<|endoftext|>\""},
                                                                {"e4\te5", 0, "\"e4?e5\""},
                                                                {"e4 e5\r\n", 3, "\"e5?\""}}) {
    const EncodeError error = refusal(tokenizer, text);
    EXPECT_EQ(error.offset(), at);
    EXPECT_TRUE(names(error.problem(), {symbol, "7"}));
  }
  EXPECT_TRUE(names(refusal(tokenizer, "e4 \xFF").what(), {"byte 3", "UTF-8"}));
  EXPECT_EQ(refusal(codons(), "ACGzAC").offset(), 3);
  EXPECT_TRUE(names(refusal(codons(), "ACz").what(), {"byte 2", "\"z\""}));
}

TEST(Symbols, WithoutSpacesAreTheLongestOnes) {
  const PipelineTokenizer tokenizer = codons();
  for (const auto& [text, ids] : std::vector<std::pair<std::string, Ids>>{
           {"ACGACA", {4, 1, 0}}, {"ACGG", {3, 2}}, {"ACAC", {0, 1, 0, 1}}, {"A[x]a b\nC", {0, 5, 6, 7, 1}}, {"ACGA", {4}}}) {
    EXPECT_EQ(tokenizer.encode(text), ids);
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  EXPECT_TRUE(tokenizer.is_lossless());
  EXPECT_EQ(tokenizer.encode_with_special("A<|endoftext|>C"), (Ids{0, 8, 1}));
}

// A text that does not fit into memory is cut there.
TEST(Symbols, ATextCanBeCutAtItsStablePrefix) {
  for (const auto& [tokenizer, text] : {std::pair(moves(), "e4 e5 e\nO-O e e4"s), std::pair(codons(), "ACGAC\n[x]a b\nACGA"s)}) {
    index cuts = 0;
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const index stable = tokenizer.stable_prefix(std::string_view(text).substr(0, size));
      ASSERT_LE(stable, static_cast<index>(size));
      Ids ids = tokenizer.encode(std::string_view(text).substr(0, static_cast<std::size_t>(stable)));
      const Ids rest = tokenizer.encode(std::string_view(text).substr(static_cast<std::size_t>(stable)));
      ids.insert(ids.end(), rest.begin(), rest.end());
      EXPECT_EQ(ids, tokenizer.encode(text)) << "cut at " << stable;
      cuts += stable > 0 ? 1 : 0;
    }
    EXPECT_GT(cuts, 4);
  }
}

TEST(Symbols, AreAWordLevelThatIsReadAgain) {
  for (const auto& [tokenizer, text] : {std::pair(moves(), "e4 e5\nO-O e4"s), std::pair(codons(), "ACGAC[x]\na b"s)}) {
    const std::string file = tokenizer.to_json();
    EXPECT_EQ(json::parse(file)["model"]["type"], "WordLevel");
    const auto read = tokenizer_from_json(file);
    EXPECT_EQ(read->to_json(), file);
    EXPECT_EQ(read->encode(text), tokenizer.encode(text));
    EXPECT_EQ(read->is_lossless(), tokenizer.is_lossless());
  }
  const json longest = json::parse(codons().to_json());
  EXPECT_EQ(longest["pre_tokenizer"]["pattern"]["Regex"], "ACGA|ACG|\\[x\\]|a b|A|C|G|\n");
  EXPECT_EQ(longest["pre_tokenizer"]["behavior"], "Isolated");
  EXPECT_EQ(longest["model"]["unk_token"], "") << "so that the library refuses unknown symbols too";
}

/// The form that Hugging Face's library writes for WordLevel(unk_token="[UNK]") with WhitespaceSplit.
json word_level_file() {
  return json::parse(R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 1, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
                      "special": true}],
    "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"b": 0, "[UNK]": 1, "a": 2, "ab": 3}, "unk_token": "[UNK]"}})");
}

TEST(Symbols, AWordLevelOfOthersIsRead) {
  const auto tokenizer = tokenizer_from_json(word_level_file().dump());
  EXPECT_EQ(tokenizer->encode("a  b\n\tab abc a"), (Ids{2, 0, 3, 1, 2}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 0, 3, 1}), "a b ab [UNK]");
  EXPECT_EQ(tokenizer->suppressed_tokens(), Ids{1});
  EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->encode("a b\nab abc"), (Ids{2, 0, 3, 1}));
  const auto error_with = [](const std::function<void(json&)>& change) {
    json file = word_level_file();
    change(file);
    return error_of<InputError>([&] { tokenizer_from_json(file.dump()); });
  };
  EXPECT_TRUE(names(error_with([](json& f) { f["model"]["dropout"] = 0.5; }), {"dropout"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["model"]["vocab"] = {{"a", 0}, {"b", 0}}; }), {"two tokens", "id 0"}));
  EXPECT_TRUE(names(error_with([](json& f) { f["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}; }), {"cleanup"}));
}

TEST(Symbols, OfATextAreItsDistinctWords) {
  const std::string_view documents[] = {"e4 e5\nNf3", "e4 \u00E9"};
  const auto tokenizer = make_tokenizer("symbols", documents);
  EXPECT_EQ(tokenizer->encode("Nf3 e4 e5 \u00E9\n"), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(tokenizer->separator(), 5);
  EXPECT_TRUE(names(error_of<InputError>([] { make_tokenizer("symbols", {}); }), {"no text"}));
}

TEST(Symbols, AListWithAWrongRowIsRefused) {
  const TemporaryFolder to;
  const auto error_in = [&](std::string_view list, SymbolSplit split = SymbolSplit::spaces) {
    to.write("list.txt", list);
    return error_of<InputError>([&] { read_symbols(to.path("list.txt"), split); });
  };
  EXPECT_TRUE(names(error_in("e4\ne5\nNf3\ne5\n"), {"list.txt", "row 4", "row 2", "\"e5\""}));
  EXPECT_TRUE(names(error_in("e4\n\ne5\n"), {"list.txt", "row 2"}));
  EXPECT_TRUE(names(error_in(""), {"list.txt", "empty"}));
  EXPECT_TRUE(names(error_in("\xEF\xBB\xBF"), {"list.txt", "empty"}));
  EXPECT_TRUE(names(error_in("e4\nO O\n"), {"list.txt", "row 2", "\"O O\"", "--split longest"}));
  EXPECT_TRUE(names(error_in("e4\na\xC3\n"), {"list.txt", "row 2", "byte 1", "UTF-8"}));
  EXPECT_TRUE(names(error_in("e4\n" + std::string(1025, 'x')), {"list.txt", "row 2", "1025", "1024"}));
  EXPECT_TRUE(names(error_in(std::string((std::size_t{1} << 20) + 1, '\n')), {"list.txt", "1048577", "1048576"}));
  EXPECT_TRUE(names(error_of<InputError>([&] { read_symbols(to.path("none.txt"), SymbolSplit::spaces); }), {"none.txt"}));
  to.write("good.txt",
           "\xEF\xBB\xBF"
           "e4\r\n<|endoftext|>\r\ne5");
  const auto tokenizer = read_symbols(to.path("good.txt"), SymbolSplit::spaces);
  EXPECT_EQ(tokenizer->encode("e4 e5\n"), (Ids{0, 2, 3}));
  EXPECT_EQ(tokenizer->separator(), 1) << "it keeps its row";
}

TEST(Words, AreAWordLevelForOtherPrograms) {
  const WordTokenizer words({"\n", "die", "or", "win"});
  const HuggingFaceFiles files = hugging_face_files(word_pipeline(words));
  EXPECT_EQ(json::parse(files.tokenizer_config_json)["unk_token"], "<unk>");
  EXPECT_EQ(json::parse(files.tokenizer_config_json)["eos_token"], "<end>");
  const TemporaryFolder to;
  to.write("tokenizer.json", files.tokenizer_json);
  to.write("tokenizer_config.json", files.tokenizer_config_json);
  const auto read = read_tokenizer_file(to.path());
  for (const std::string_view text : {"win or die", "\nwin  \t nor\u3000die\u0085 \n\n or", "", "winor <end>", "a\u200Bb \u2028 or\r\n"}) {
    EXPECT_EQ(read->encode(text), words.encode(text));
    EXPECT_EQ(read->decode(words.encode(text)), words.decode(words.encode(text)));
  }
  EXPECT_EQ(read->separator(), WordTokenizer::kEnd);
  EXPECT_EQ(read->suppressed_tokens(), words.suppressed_tokens());
  EXPECT_TRUE(names(error_of<InputError>([] { word_pipeline(WordTokenizer({"<end>", "a"})); }), {"\"<end>\""}));
}

// Python's pickle.dumps() of nanoGPT's dict wrote these.
const std::string kProtocol2 =
    "\x80\x02}q\0(X\n\0\0\0vocab_sizeq\1K\3X\4\0\0\0itosq\2}q\3(K\0X\1\0\0\0\nq\4K\1X\1\0\0\0 q\5K\2X\2\0\0\0\xc3\xa9q\6uX\4\0\0\0stoiq\7}q"
    "\x08(h\4K\0h\5K\1h\6K\2uu."s;
const std::string kProtocol4 =
    "\x80\4\x95`\0\0\0\0\0\0\0}\x94(\x8c\nvocab_size\x94K\4\x8c\4itos\x94}\x94(K\0\x8c\2Cl\x94K\1\x8c\1"
    "C\x94K\2\x8c\r<|endoftext|>\x94K\3"
    "\x8c\2Br\x94u\x8c\4stoi\x94}\x94(h\4K\0h\5K\1h\6K\2h\7K\3uu."s;

class MetaPickle : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> read(const std::string& bytes) const { return read_tokenizer_file(to.write("meta.pkl", bytes)); }
  std::string error_in(const std::string& bytes) const {
    const std::string error = error_of<InputError>([&] { read(bytes); });
    EXPECT_TRUE(names(error, {"meta.pkl"}));
    return error;
  }
  /// A dict with these items of protocol 2.
  static std::string dict(const std::string& items) { return "\x80\2}(" + items + "u."; }
  static std::string text(const std::string& characters) {
    return "X" + std::string(1, static_cast<char>(characters.size())) + "\0\0\0"s + characters;
  }
  static std::string ids(const std::string& items) {
    return dict(text("stoi") + "}(" + items + "u" + text("itos") + "}(K\0"s + text("a") + "u");
  }

  TemporaryFolder to;
};

TEST_F(MetaPickle, HasTheNamesOfNanoGptsTokens) {
  EXPECT_EQ(read(kProtocol2)->kind(), "char");
  EXPECT_EQ(read(kProtocol2)->encode("\u00E9\n "), (Ids{2, 0, 1}));
  EXPECT_EQ(read_tokenizer_file(to.path())->encode("\u00E9"), Ids{2}) << "found in its folder";
  const auto atoms = read(kProtocol4);
  EXPECT_EQ(atoms->encode("CClBrC"), (Ids{1, 0, 3, 1}));
  EXPECT_EQ(atoms->decode(Ids{1, 0, 3}), "CClBr");
  EXPECT_EQ(atoms->separator(), 2);
  EXPECT_EQ(read_symbols(to.path("meta.pkl"), SymbolSplit::spaces)->decode(Ids{1, 0}), "C Cl");
  EXPECT_EQ(read(ids(text("a") + "K\0"s))->encode("aa"), (Ids{0, 0}));
}

TEST_F(MetaPickle, ThatHoldsAnythingElseIsRefused) {
  EXPECT_TRUE(names(error_in("\x80\2K\1."), {"dict", "stoi"}));
  EXPECT_TRUE(names(error_in(dict(text("itos") + "}")), {"stoi"}));
  EXPECT_TRUE(names(error_in(dict(text("stoi") + "}(" + text("a") + "K\0u"s)), {"itos"}));
  EXPECT_TRUE(names(error_in(ids(text("a") + text("b"))), {"stoi"})) << "an id that is a str";
  EXPECT_TRUE(names(error_in(ids(text("a") + "K\1")), {"\"a\"", "1", "0"})) << "a gap";
  EXPECT_TRUE(names(error_in(ids(text("a") + "K\0"s + text("b") + "K\0"s)), {"\"a\"", "\"b\"", "0"}));
  EXPECT_TRUE(names(error_in(ids(text("b") + "K\0"s)), {"\"a\"", "itos"}));
  EXPECT_TRUE(names(error_in(ids(text("a") + "K\0"s + text("b") + "K\1")), {"itos", "1", "2"}));
  EXPECT_TRUE(names(error_in(ids(text("") + "K\0"s)), {"\"\"", "0"}));
  EXPECT_TRUE(names(error_in(ids(text("\xFF") + "K\0"s)), {"itos"}));
  EXPECT_TRUE(names(error_in("\x80\2cos\nsystem\n(X\2\0\0\0lstR."s), {"os.system", "byte 2"})) << "not run";
  EXPECT_TRUE(names(error_in(kProtocol4.substr(0, 40)), {"byte"}));
  EXPECT_TRUE(names(error_in("\x80\2" + std::string(std::size_t{9} << 20, 'N')), {"8388608"}));
}

}  // namespace
}  // namespace dikkat
