#include "tests/train/cli/page_data.h"
#include "tests/train/cli/workspace.h"

// The pages of sample and eval that show a text token by token.
namespace dikkat::testing {
namespace {

std::string joined(const Json& tokens) {
  std::string all;
  for (const Json& one : tokens) {
    all += one["t"];
  }
  return all;
}

TEST(TextPage, ShowsLettersThatAreSplitOverTokens) {
  const Workspace here;
  here.train("run");  // its tokens are bytes
  const std::string text = "g\u00fcn \u20ac.\n";
  here.write("letters/one.txt", text);
  here.write("letters/two.txt", tiny_text(20));
  ASSERT_EQ(here.run({"eval", "run", "--newest", "--corpus", "letters", "--html", "eval.html"}).code, 0);
  const Json texts = data_of_page(contents(here / "eval.html"))["texts"];
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(contains(texts[0]["name"], "letters/one.txt") && contains(texts[0]["name"], "letters/two.txt")) << texts[0]["name"];
  const Json tokens = texts[0]["tokens"];
  EXPECT_TRUE(joined(tokens).starts_with(text.substr(1))) << "the first token is not predicted: " << joined(tokens);
  EXPECT_EQ(joined(tokens).find("\ufffd"), std::string::npos);
  EXPECT_EQ(tokens[0]["t"], "");
  EXPECT_EQ(tokens[0]["n"], "<C3>");
  EXPECT_EQ(tokens[1]["t"], "\u00fc");
  EXPECT_EQ(tokens[1]["n"], "<BC>");
  EXPECT_FALSE(tokens[2].contains("n"));

  ASSERT_EQ(here.run({"sample", "run", "--newest", "--prompt", text, "--max-new-tokens", "4", "--html", "sample.html"}).code, 0);
  const Json sampled = data_of_page(contents(here / "sample.html"))["texts"][0]["tokens"];
  ASSERT_EQ(sampled.size(), text.size() + 4);
  EXPECT_TRUE(joined(sampled).starts_with(text)) << joined(sampled);
  for (const Json& one : sampled) {
    for (const Json& alternative : one["a"]) {
      EXPECT_EQ(alternative[0].get<std::string>().find("\ufffd"), std::string::npos) << "bytes are named";
    }
  }
}

}  // namespace
}  // namespace dikkat::testing
