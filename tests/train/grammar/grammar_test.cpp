#include "train/grammar/grammar.h"

#include "tests/train/grammar/support.h"

namespace dikkat {
namespace {

bool matches(const Grammar& grammar, std::string_view text) { return over_bytes(grammar)->matches(text); }
bool continues(const Grammar& grammar, std::string_view text) { return over_bytes(grammar)->can_continue(text); }

Grammar letters() { return one_character({{'a', 'z'}}); }

TEST(Grammar, HasTheTextsOfItsParts) {
  const Grammar grammar = sequence({literal("<"), any_of({literal("é"), letters()}), optional(literal("!")), literal(">")});
  for (const char* text : {"<é>", "<a>", "<z!>", "<é!>"}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  for (const char* text : {"", "<", "<>", "<A>", "<a!!>", "<a>x", "<\xC3>"}) {
    EXPECT_FALSE(matches(grammar, text)) << text;
  }
  EXPECT_TRUE(continues(grammar, "<\xC3"));
  EXPECT_FALSE(continues(grammar, "<\xC4"));
}

TEST(Grammar, RepeatsBetweenItsBounds) {
  const Grammar grammar = repeat(literal("ab"), 2, 4);
  std::string text;
  for (index i = 0; i < 7; ++i, text += "ab") {
    EXPECT_EQ(matches(grammar, text), 2 <= i && i <= 4) << i;
    EXPECT_EQ(continues(grammar, text), i <= 4) << i;
  }
  EXPECT_TRUE(matches(sequence({literal("x"), repeat(letters(), 0)}), "x"));
  EXPECT_TRUE(matches(repeat(letters(), 1), "qwertzuiopasdfghjklyxcvbnm"));
  EXPECT_FALSE(matches(repeat(letters(), 1), ""));
  input_error_of([] { repeat(letters(), 3, 2); });
  input_error_of([] { repeat(letters(), -1); });
  input_error_of([] { repeat(letters(), 0, 100'001); });
}

TEST(Grammar, LargeBoundsNeedFewStates) {
  const auto counted = over_bytes(sequence({repeat(any_of({literal("ab"), literal("c")}), 65'530, 65'536), literal(".")}));
  std::string text;
  for (index i = 0; i < 65'529; ++i) {
    text += i % 2 == 0 ? "ab" : "c";
  }
  EXPECT_FALSE(counted->matches(text + "."));
  EXPECT_TRUE(counted->matches(text + "ab."));
  EXPECT_TRUE(counted->matches(text + "abcabcabcab."));
  EXPECT_FALSE(counted->matches(text + "abcabcabcabc."));
  const auto letters_only = over_bytes(sequence({repeat(letters(), 0, 100'000), literal(".")}));
  EXPECT_TRUE(letters_only->matches(std::string(100'000, 'x') + "."));
  EXPECT_FALSE(letters_only->can_continue(std::string(100'001, 'x')));
  EXPECT_TRUE(letters_only->matches("."));
  // All numbers of parts, around the bounds and the places where a repetition is divided.
  const auto some = over_bytes(sequence({repeat(literal("a"), 2500, 5003), literal(".")}));
  for (const index count : {0, 1, 1250, 2499, 2500, 2501, 3125, 3750, 3751, 3752, 4999, 5002, 5003, 5004}) {
    EXPECT_EQ(some->matches(std::string(static_cast<std::size_t>(count), 'a') + "."), 2500 <= count && count <= 5003) << count;
  }
  const Grammar line = sequence({repeat(letters(), 1, 1000), literal(";")});
  EXPECT_TRUE(over_bytes(repeat(line, 1, 1000))->matches(std::string(1000, 'a') + ";b;"));
}

TEST(Grammar, HasTextsThatAllPartsHave) {
  const Grammar some = repeat(one_character({{'a', 'c'}, {0xE9, 0xE9}}), 0);
  const auto both =
      over_bytes(all_of({some, repeat(any_of({literal("ab"), literal("éc"), literal("d")}), 1, 2), all_but(literal("abab"))}));
  for (const char* text : {"ab", "éc", "abéc", "écéc"}) {
    EXPECT_TRUE(both->matches(text)) << text;
  }
  for (const char* text : {"", "d", "abab", "ababab", "a", "ad"}) {
    EXPECT_FALSE(both->matches(text)) << text;
  }
  input_error_of([&] { over_bytes(all_of({literal("a"), literal("b")})); });
  input_error_of([&] { over_bytes(all_of({some, all_but(some)})); });
  EXPECT_TRUE(over_bytes(sequence({literal("x"), any_of({all_of({literal("a"), literal("b")}), literal("c")})}))->matches("xc"));

  // Against a check of each part.
  Dice dice(5);
  for (int i = 0; i < 40; ++i) {
    const auto random = [&] {
      std::vector<Grammar> ways;
      for (index j = 1 + dice.roll(4); j > 0; --j) {
        ways.push_back(
            sequence({repeat(letters(), 0, dice.roll(3)), literal(dice.coin() ? "a" : "ba"), repeat(literal("b"), dice.roll(2))}));
      }
      return any_of(std::move(ways));
    };
    const Grammar one = random(), other = random(), third = random();
    const Grammar end = literal(".");
    const auto common = over_bytes(any_of({literal("!"), sequence({all_of({one, other, all_but(third)}), end})}));
    const auto of_one = over_bytes(one), of_other = over_bytes(other), of_third = over_bytes(third);
    for (int j = 0; j < 200; ++j) {
      std::string text;
      for (index length = dice.roll(7); length > 0; --length) {
        text += dice.coin() ? 'a' : 'b';
      }
      ASSERT_EQ(common->matches(text + "."), of_one->matches(text) && of_other->matches(text) && !of_third->matches(text)) << text;
    }
  }
}

TEST(Grammar, SpellsCharacters) {
  const auto doubled =
      over_bytes(spelled(sequence({literal("a"), repeat(one_character({{'b', 'c'}}), 1), all_of({literal("x"), letters()})}),
                         [](const std::vector<utf8::Range>& ranges) {
                           return any_of({one_character(ranges), shared(sequence({literal("<"), one_character(ranges), literal(">")}))});
                         }));
  for (const char* text : {"abx", "<a>b<c><x>", "a<b>bbx"}) {
    EXPECT_TRUE(doubled->matches(text)) << text;
  }
  for (const char* text : {"ax", "<ab>x", "<a><c><a>"}) {
    EXPECT_FALSE(doubled->matches(text)) << text;
  }
}

TEST(Grammar, ManyLiteralsAreOneReading) {
  std::vector<Grammar> names;
  for (index i = 0; i < 5000; ++i) {
    names.push_back(literal(concat("name", i)));
  }
  const auto grammar = over_bytes(any_of(names));
  EXPECT_TRUE(grammar->matches("name4999"));
  EXPECT_TRUE(grammar->matches("name4"));
  EXPECT_FALSE(grammar->matches("name5000"));
}

TEST(Grammar, RepeatsWhatMayBeEmpty) {
  const Grammar grammar = sequence({repeat(optional(letters()), 2, 3), literal("."), repeat(repeat(letters(), 0), 0)});
  for (const char* text : {".", "a.", "abc.", ".x", "ab.xyz"}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  EXPECT_FALSE(matches(grammar, "abcd."));
}

TEST(Grammar, SeparatesPartsThatMayBeLeftOut) {
  const Grammar grammar =
      sequence({literal("("), separated({{literal("a"), true}, {literal("b")}, {literal("c"), true}, {literal("d"), true}}, literal(",")),
                literal(")")});
  for (const char* text : {"(b)", "(a,b)", "(b,c)", "(b,d)", "(a,b,c,d)"}) {
    EXPECT_TRUE(matches(grammar, text)) << text;
  }
  for (const char* text : {"()", "(a)", "(a,)", "(a,c)", "(b,)", "(,b)", "(b,d,c)", "(b,,d)"}) {
    EXPECT_FALSE(matches(grammar, text)) << text;
  }
  const Grammar all_optional =
      sequence({literal("("), separated({{literal("a"), true}, {literal("b"), true}}, literal(",")), literal(")")});
  for (const char* text : {"()", "(a)", "(b)", "(a,b)"}) {
    EXPECT_TRUE(matches(all_optional, text)) << text;
  }
  EXPECT_FALSE(matches(all_optional, "(,b)"));
}

TEST(Grammar, CharactersAreAllOfUnicode) {
  const Grammar any = one_character({{0, 0x10FFFF}});
  const Grammar some = one_character({{0x7F, 0x80}, {0x7FE, 0x801}, {0x2028, 0x3041}, {0xFFFE, 0x10001}, {0x10FFFE, 0x10FFFF}});
  const auto of_any = over_bytes(any), of_some = over_bytes(some);
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x3100 || c > 0x10FFE0 ? 1 : 97) {
    if (!utf8::is_character(c)) {
      continue;
    }
    std::string text;
    utf8::append(text, c);
    ASSERT_TRUE(of_any->matches(text)) << static_cast<unsigned>(c);
    const bool is_in = (0x7F <= c && c <= 0x80) || (0x7FE <= c && c <= 0x801) || (0x2028 <= c && c <= 0x3041) ||
                       (0xFFFE <= c && c <= 0x10001) || c >= 0x10FFFE;
    ASSERT_EQ(of_some->matches(text), is_in) << static_cast<unsigned>(c);
  }
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE2\x28", "\xF5"}) {
    EXPECT_FALSE(of_any->can_continue(bad));
  }
}

TEST(Grammar, TextWithoutAMarker) {
  const Grammar text = text_without("<abab>");
  const Grammar call = sequence({text, optional(sequence({literal("<abab>"), repeat(letters(), 1), literal("!")}))});
  for (const char* good : {"", "hello", "<abab", "<aba<abab", "ab<é>\n", "<<<"}) {
    EXPECT_TRUE(matches(text, good)) << good;
    EXPECT_TRUE(matches(call, good)) << good;
  }
  for (const char* bad : {"<abab>", "x<abab>", "<ab<abab>", "<<abab>y"}) {
    EXPECT_FALSE(matches(text, bad)) << bad;
    EXPECT_FALSE(matches(call, bad)) << bad;
  }
  for (const char* good : {"<abab>x!", "so <<aba<abab>xyz!"}) {
    EXPECT_TRUE(matches(call, good)) << good;
  }
  EXPECT_FALSE(continues(call, "<abab>1"));
  EXPECT_FALSE(continues(call, "<abab>x! "));
  input_error_of([] { text_without(""); });

  // Against a search, for markers that overlap themselves.
  Dice dice(1);
  for (const std::string marker : {"aab", "aabaaab", "abab", "aaa", "éaé"}) {
    const auto grammar = over_bytes(text_without(marker));
    for (int i = 0; i < 300; ++i) {
      std::string random;
      for (index length = dice.roll(20); length > 0; --length) {
        random += dice.coin() ? "a" : dice.coin() ? "b" : "é";
      }
      EXPECT_EQ(grammar->matches(random), random.find(marker) == std::string::npos) << marker << ' ' << random;
    }
  }
}

TEST(Grammar, RulesMayContainThemselves) {
  const Rule list("list"), item("item");
  const Grammar grammar = with_rules(
      reference(list),
      {{list, sequence({literal("("), optional(sequence({reference(item), repeat(sequence({literal(","), reference(item)}), 0)})),
                        literal(")")})},
       {item, any_of({letters(), reference(list)})}});
  const auto compiled = over_bytes(grammar);
  for (const char* text : {"()", "(a)", "((),(a,b),c)", "((((()))))"}) {
    EXPECT_TRUE(compiled->matches(text)) << text;
  }
  for (const char* text : {"", "(", "(()", "())", "(a,)", "(a b)"}) {
    EXPECT_FALSE(compiled->matches(text)) << text;
  }
  const std::string deep(5000, '(');
  EXPECT_TRUE(compiled->can_continue(deep));
  EXPECT_TRUE(compiled->matches(deep + std::string(5000, ')')));
  EXPECT_FALSE(compiled->can_continue(deep + std::string(5001, ')')));
}

TEST(Grammar, RulesThatMayBeEmptyFollowEachOther) {
  const Rule a("a"), b("b"), c("c");
  const Grammar grammar =
      with_rules(sequence({reference(a), reference(b), reference(a), literal(".")}),
                 {{a, repeat(literal("a"), 0, 2)}, {b, sequence({reference(c), reference(a), reference(c)})}, {c, optional(literal("c"))}});
  const auto compiled = over_bytes(grammar);
  for (const char* text : {".", "a.", "aacaacaa.", "cc.", "aaaaaa.", "caac."}) {
    EXPECT_TRUE(compiled->matches(text)) << text;
  }
  for (const char* text : {"aaaaaaa.", "ccc.", "acaaaaac."}) {
    EXPECT_FALSE(compiled->matches(text)) << text;
  }
}

TEST(Grammar, RefusesWhatCannotBeWritten) {
  const Rule endless("endless"), left("left"), right("right");
  // No end, no character, itself first.
  input_error_of([&] { over_bytes(with_rules(reference(endless), {{endless, sequence({literal("x"), reference(endless)})}})); });
  input_error_of([&] { over_bytes(one_character({})); });
  input_error_of([&] { over_bytes(literal("")); });
  EXPECT_TRUE(testing::names(input_error_of([&] {
                               over_bytes(with_rules(reference(left),
                                                     {{left, any_of({literal("x"), reference(right)})},
                                                      {right, sequence({optional(literal("y")), reference(left), literal("z")})}}));
                             }),
                             {"left"}));
  // What has no end is left out where something else can be written.
  const auto some =
      over_bytes(with_rules(any_of({reference(endless), literal("xy")}), {{endless, sequence({literal("x"), reference(endless)})}}));
  EXPECT_TRUE(some->matches("xy"));
  EXPECT_FALSE(some->can_continue("xx"));
  // Too large. The message names the part that needs most states.
  const Grammar small = named(repeat(literal("ab"), 0, 3), "small"), large = named(literal(std::string(90'000, 'a')), "large.part");
  const Grammar around = named(sequence({small, large, literal(std::string(20'000, 'b'))}), "large");
  try {
    over_bytes(sequence({small, around}));
    ADD_FAILURE();
  } catch (const GrammarTooLarge& error) {
    EXPECT_EQ(error.name(), "large.part");
    EXPECT_TRUE(testing::names(error.what(), {"large.part", "100000"}));
  }
  input_error_of([] { literal("\xFF"); });
}

TEST(Grammar, ManyReadingsAtOnceAreBounded) {
  // Every position may begin a part of 2,000 characters, so that there are thousands of readings.
  const Grammar any = one_character({{'a', 'b'}});
  const std::string text(300, 'a');
  EXPECT_TRUE(over_bytes(sequence({repeat(any, 0), literal("a"), repeat(any, 300, 300)}))->can_continue(text));
}

}  // namespace
}  // namespace dikkat
