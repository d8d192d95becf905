#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/support/shared_data.h"
#include "tests/support/throws.h"
#include "train/text/char_tokenizer.h"
#include "train/text/tokenizer_kinds.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;

using namespace std::string_literals;

std::unique_ptr<Tokenizer> char_tokenizer_of(std::initializer_list<std::string_view> documents) {
  return make_tokenizer("char", std::span(documents.begin(), documents.size()));
}

void expect_round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<Token> tokens = tokenizer.encode(text);
  for (const Token token : tokens) {
    ASSERT_TRUE(token >= 0 && token < tokenizer.vocab_size()) << token;
  }
  EXPECT_TRUE(tokenizer.decode(tokens) == text);
  const auto again = tokenizer_from_json(tokenizer.to_json());
  EXPECT_EQ(again->kind(), tokenizer.kind());
  EXPECT_EQ(again->vocab_size(), tokenizer.vocab_size());
  EXPECT_EQ(again->to_json(), tokenizer.to_json());
  EXPECT_TRUE(again->encode(text) == tokens);
  EXPECT_TRUE(again->decode(tokens) == text);
}

TEST(ByteTokenizer, EncodesEveryByteAsItsValue) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    text += static_cast<char>(byte);
  }
  const auto tokenizer = make_tokenizer("byte", {});
  const std::vector<Token> tokens = tokenizer->encode(text);
  ASSERT_EQ(tokens.size(), 256U);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(tokens[byte], static_cast<Token>(byte));
  }
  EXPECT_EQ(tokenizer->vocab_size(), 256);
  EXPECT_EQ(tokenizer->separator(), std::nullopt);
  EXPECT_EQ(tokenizer->to_json(), R"({"kind":"byte"})");
  expect_round_trip(*tokenizer, text);
}

TEST(CharTokenizer, IdsAreIndicesInTheSortedSetOfCodePoints) {
  const auto tokenizer = char_tokenizer_of({"b\u3042a", "", "a\U0001F600\n"});
  EXPECT_EQ(tokenizer->vocab_size(), 5);  // \n a b あ 😀
  EXPECT_EQ(tokenizer->encode("\nab\u3042\U0001F600a"), (std::vector<Token>{0, 1, 2, 3, 4, 1}));
  EXPECT_EQ(tokenizer->separator(), std::nullopt);
  EXPECT_EQ(tokenizer->to_json(), "{\"characters\":\"\\nab\u3042\U0001F600\",\"kind\":\"char\"}");
  EXPECT_TRUE(tokenizer->encode("").empty());
  expect_round_trip(*tokenizer, "ab\n\u3042");
}

TEST(CharTokenizer, KeepsControlAndSpecialCharacters) {
  const std::string text = "\0\x01\"\\\x7F\r\n\u2028\uFEFF\uFFFF\U0010FFFF"s;
  expect_round_trip(*char_tokenizer_of({text}), text);
}

TEST(CharTokenizer, RefusesTextThatIsNotUtf8AndReportsWhere) {
  const std::string_view documents[] = {"fine", "ab\xC3\xA9\xED\xA0\x80"};
  try {
    make_tokenizer("char", documents);
    FAIL() << "no exception";
  } catch (const EncodeError& error) {
    EXPECT_EQ(error.document(), 1);
    EXPECT_EQ(error.offset(), 4);
    EXPECT_TRUE(names(error.what(), {"byte 4", "UTF-8", "0xED 0xA0", "UTF-16", "iconv", "data.invalid_utf8", "\"replace\"",
                                     "tokenizer.kind", "\"byte\""}));
  }
  const auto tokenizer = char_tokenizer_of({"abc"});
  EXPECT_TRUE(names(error_of<EncodeError>([&] { tokenizer->encode("cab\xFF"); }), {"byte 3", "UTF-8", "0xFF"}));
}

TEST(CharTokenizer, NamesACharacterThatItLacks) {
  const auto tokenizer = char_tokenizer_of({"abc\u3042"});
  EXPECT_TRUE(names(error_of<EncodeError>([&] { tokenizer->encode("\u3042b\u00E9"); }), {"byte 4", "U+00E9", "'é'", "4 characters"}));
  EXPECT_TRUE(names(error_of<EncodeError>([&] { tokenizer->encode("ab\x1B"); }), {"byte 2", "U+001B"}));
  EXPECT_EQ(error_of<EncodeError>([&] { tokenizer->encode("ab\x1B"); }).find('\x1B'), std::string::npos) << "not printed";
  EXPECT_TRUE(names(error_of<EncodeError>([&] { tokenizer->encode("\U0001F600"); }), {"byte 0", "U+1F600"}));
}

TEST(CharTokenizer, RefusesAnEmptyOrUnsortedVocabulary) {
  EXPECT_THROW(char_tokenizer_of({}), InputError);
  EXPECT_THROW(char_tokenizer_of({"", ""}), InputError);
  EXPECT_THROW(CharTokenizer(U""), InputError);
  EXPECT_THROW(CharTokenizer(U"ba"), InputError);
  EXPECT_THROW(CharTokenizer(U"aa"), InputError);
  EXPECT_THROW(CharTokenizer(std::u32string(1, char32_t{0xD800})), InputError);
  EXPECT_THROW(CharTokenizer(std::u32string(1, char32_t{0x110000})), InputError);
}

TEST(Tokenizer, RefusesTokensOutsideTheVocabulary) {
  for (const std::string_view kind : kTokenizerNames) {
    const std::string_view documents[] = {"abc"};
    const auto tokenizer = make_tokenizer({.kind = std::string(kind), .vocab_size = 257}, documents);
    const Token below[] = {0, -1};
    const Token above[] = {static_cast<Token>(tokenizer->vocab_size())};
    EXPECT_THROW(tokenizer->decode(below), Error) << kind;
    EXPECT_THROW(tokenizer->decode(above), Error) << kind;
  }
}

TEST(Tokenizer, AKindOfAnyBytesEncodesThemAll) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    bytes.push_back(static_cast<char>(byte));
  }
  int kinds = 0;
  for (const TokenizerKind& kind : kTokenizerKinds) {
    if (kind.any_bytes) {
      const std::string_view documents[] = {"abc"};
      const auto tokenizer = make_tokenizer({.kind = std::string(kind.name)}, documents);
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(bytes)), bytes) << kind.name;
      ++kinds;
    }
  }
  EXPECT_EQ(kinds, 1) << "byte";
  EXPECT_EQ(tokenizer_names_in_words(), "byte, char, word, symbols or bpe");
}

TEST(Tokenizer, EveryKindIsMadeFromATextAndReadFromItsJson) {
  for (const std::string_view kind : kTokenizerNames) {
    const std::string_view documents[] = {"to be or not to be"};
    const auto made = make_tokenizer({.kind = std::string(kind), .vocab_size = 260}, documents);
    EXPECT_EQ(made->kind(), kind);
    const auto read = tokenizer_from_json(made->to_json());
    EXPECT_EQ(read->kind(), kind);
    EXPECT_EQ(read->vocab_size(), made->vocab_size());
    EXPECT_EQ(read->encode("not to be"), made->encode("not to be"));
  }
}

TEST(Tokenizer, AnUnknownKindIsAnsweredWithTheKnownOnes) {
  EXPECT_TRUE(names(error_of<InputError>([] { make_tokenizer("bpe2", {}); }),
                    {"tokenizer.kind", "\"bpe2\"", "\"byte\"", "\"char\"", "\"word\"", "\"symbols\"", "\"bpe\""}));
}

TEST(Tokenizer, RefusesADescriptionThatNestsDeep) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string nest = std::string(kDepth, '[') + std::string(kDepth, ']');
  for (const std::string& text : {"{\"normalizer\":" + nest + ",\"model\":{\"type\":\"BPE\"}}",
                                  "{\"added_tokens\":[" + nest + "],\"model\":{}}", "{\"kind\":" + nest + '}'}) {
    try {
      tokenizer_from_json(text);
      FAIL() << text.substr(0, 20);
    } catch (const InputError& error) {
      EXPECT_TRUE(names(error.what(), {"nested"}));
    }
  }
  EXPECT_EQ(tokenizer_from_json("{\"kind\":\"char\",\"characters\":\"" + std::string("[") + "\"}")->vocab_size(), 1);
  // In a text, brackets do not nest.
  EXPECT_NO_THROW(tokenizer_from_json("{\"kind\":\"word\",\"words\":[\"" + std::string(200, '[') + R"(\"["]})"));
}

TEST(Tokenizer, RefusesADescriptionOfTooManyValues) {
  constexpr std::size_t kMost = std::size_t{1} << 24;
  std::string numbers = ",0";  // 16 bytes of memory for two of text: larger ones are refused before they are made
  while (numbers.size() < 2 * kMost) {
    numbers += numbers;
  }
  EXPECT_TRUE(names(error_of<InputError>([&] { tokenizer_from_json(concat("{\"kind\":[0", numbers, "]}")); }), {"16777216"}));
}

TEST(Tokenizer, RefusesADamagedDescription) {
  struct Case {
    std::string json;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"", {"JSON", "byte "}},
      {R"({"kind":"byte")", {"JSON", "byte "}},
      {R"({"kind":"byte"} x)", {"JSON", "byte "}},
      {std::string(200000, '['), {"nested"}},
      {std::string(200000, '[') + std::string(200000, ']'), {"nested"}},
      {R"({"kind":1e999})", {"1.8e308"}},
      {"\"byte\"", {"string", "object"}},
      {"null", {"null", "object"}},
      {"{}", {"kind is missing"}},
      {R"({"kind":7})", {"kind is 7", "string"}},
      {R"({"kind":"gpt9"})", {"kind", "\"gpt9\"", "\"byte\", \"char\""}},
      {R"({"kind":"byte","merges":[]})", {"merges", "does not know"}},
      {R"({"kind":"char"})", {"characters is missing"}},
      {R"({"kind":"char","characters":["a","b"]})", {"characters", R"(["a","b"])", "string"}},
      {R"({"kind":"char","characters":""})", {"vocabulary", "empty"}},
      {R"({"kind":"char","characters":"ba"})", {"vocabulary", "order"}},
      {R"({"kind":"char","characters":"aab"})", {"vocabulary", "order"}},
      {R"({"kind":"char","characters":"a\ud800"})", {"JSON", "byte "}},
      {"{\"kind\":\"char\",\"characters\":\"a\xFF\"}", {"JSON", "byte "}},
      {R"({"kind":"char","characters":"ab","lower_case":true})", {"lower_case", "does not know"}},
      {R"({"kind":"word"})", {"words is missing"}},
      {R"({"kind":"word","words":"ab"})", {"words", "array of strings"}},
      {R"({"kind":"word","words":["a",7]})", {"words", "array of strings"}},
      {R"({"kind":"word","words":["a",["b"]]})", {"words", "array of strings"}},
      {R"({"kind":"word","words":{"a":"b"}})", {"words", "array of strings"}},
      {R"({"kind":"word","words":[]})", {"vocabulary", "empty"}},
      {R"({"kind":"word","words":["a","b","b"]})", {"vocabulary", "distinct", "order"}},
      {R"({"kind":"word","words":["b","a"]})", {"vocabulary", "distinct", "order"}},
      {R"({"kind":"word","words":["","a"]})", {"word 1", "empty", "white space"}},
      {R"({"kind":"word","words":["a","b c"]})", {"word 2", "empty", "white space"}},
      {R"({"kind":"word","words":["\n\n"]})", {"word 1", "empty", "white space"}},
      {R"({"kind":"word","words":["a\n"]})", {"word 1", "empty", "white space"}},
      {R"({"kind":"word","words":["\u3000"]})", {"word 1", "empty", "white space"}},
      {"{\"kind\":\"word\",\"words\":[\"a\xFF\"]}", {"JSON", "byte "}},
      {R"({"kind":"word","words":["a"],"special":["<s>"]})", {"special", "does not know"}},
  };
  for (const Case& c : cases) {
    const std::string error = error_of<InputError>([&] { tokenizer_from_json(c.json); });
    EXPECT_TRUE(names(error, c.parts)) << c.json.substr(0, 80);
  }
}

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A text and Python's results for it, split at the code points of White_Space.
struct Text {
  const char* name;
  index characters;   // distinct ones
  index words;        // distinct ones, the line break among them
  std::size_t bytes;  // with white space at the ends of lines gone and a single space elsewhere
};

void expect_counts(const Text& expected, const std::string& text) {
  const std::string_view documents[] = {text};
  expect_round_trip(*make_tokenizer("byte", documents), text);
  const auto characters = make_tokenizer("char", documents);
  expect_round_trip(*characters, text);
  EXPECT_EQ(characters->vocab_size(), expected.characters);
  const auto words = make_tokenizer("word", documents);
  const std::string tidy = words->decode(words->encode(text));
  expect_round_trip(*words, tidy);
  EXPECT_EQ(words->vocab_size(), expected.words + 4);
  EXPECT_EQ(tidy.size(), expected.bytes);
}

void PrintTo(const Text& text, std::ostream* out) { *out << text.name; }

class OwnText : public ::testing::TestWithParam<Text> {};

TEST_P(OwnText, ComesBackAndHasTheCountsThatPythonFinds) {
  const std::string text = bytes_of_file(std::filesystem::path(DIKKAT_SOURCE_DIR) / "tests/golden/tokenizer/texts" / GetParam().name);
  ASSERT_GT(text.size(), 200U);
  expect_counts(GetParam(), text);
}
INSTANTIATE_TEST_SUITE_P(Texts, OwnText,
                         ::testing::Values(Text{"arabic.txt", 73, 50, 533}, Text{"chinese.txt", 78, 4, 267}, Text{"code.txt", 87, 95, 672},
                                           Text{"devanagari.txt", 91, 42, 680}, Text{"emoji.txt", 116, 45, 506},
                                           Text{"german.txt", 68, 57, 405}, Text{"greek.txt", 74, 41, 371}, Text{"hebrew.txt", 48, 31, 318},
                                           Text{"japanese.txt", 93, 8, 401}, Text{"korean.txt", 81, 34, 305},
                                           Text{"latin.txt", 118, 109, 753}, Text{"numbers.txt", 79, 63, 447},
                                           Text{"russian.txt", 61, 55, 536}, Text{"turkish.txt", 60, 50, 423},
                                           Text{"white_space.txt", 58, 56, 416}));

class SharedText : public ::testing::TestWithParam<Text> {
 protected:
  void SetUp() override {
    DIKKAT_NEEDS_SHARED_DATA(GetParam().name);
    text_ = bytes_of_file(shared_data(GetParam().name));
    ASSERT_GT(text_.size(), 100000U);
  }
  std::string text_;
};

TEST_P(SharedText, ComesBackAndHasTheCountsThatPythonFinds) { expect_counts(GetParam(), text_); }
INSTANTIATE_TEST_SUITE_P(Texts, SharedText,
                         ::testing::Values(Text{"tinyshakespeare.txt", 65, 25671, 1115376}, Text{"ja_kokoro.txt", 2125, 1296, 555111},
                                           Text{"tr_anayasa.txt", 88, 6117, 183742}, Text{"de_faust.txt", 93, 22136, 500866}));

TEST(TinyShakespeare, HasTheIdsOfNanoGpt) {
  DIKKAT_NEEDS_SHARED_DATA("tinyshakespeare.txt");
  const std::string text = bytes_of_file(shared_data("tinyshakespeare.txt"));
  const std::string_view documents[] = {text};
  EXPECT_EQ(make_tokenizer("char", documents)->encode("First Citizen"),
            (std::vector<Token>{18, 47, 56, 57, 58, 1, 15, 47, 58, 47, 64, 43, 52}));
  EXPECT_EQ(make_tokenizer("word", documents)->encode("First Citizen:\nBefore we"), (std::vector<Token>{1585, 997, 4, 642, 24648}));
}

// Russian in Windows-1251.
TEST(TextThatIsNotUtf8, IsReadByTheByteTokenizerOnly) {
  const std::string text = "\xC5\xE2\xE3\xE5\xED\xE8\xE9 \xCE\xED\xE5\xE3\xE8\xED";
  const std::string_view documents[] = {text};
  expect_round_trip(*make_tokenizer("byte", documents), text);
  for (const char* kind : {"char", "word"}) {
    EXPECT_TRUE(names(error_of<EncodeError>([&] { make_tokenizer(kind, documents); }), {"byte 0", "UTF-8"}));
  }
}

}  // namespace
}  // namespace dikkat
