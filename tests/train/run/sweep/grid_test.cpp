#include "train/run/sweep/grid.h"

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

std::vector<Variation> parsed(const std::vector<std::string>& texts) { return parse_variations(texts); }
std::string refused(const std::vector<std::string>& texts) {
  return input_error_of([&] { parsed(texts); });
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Grid, HasAllCombinationsTheLastKeyFastest) {
  std::vector<std::string> names;
  for (const GridPoint& point : grid_of(parsed({"optim.learning_rate=1e-3, 2e-3", "model.n_layer=2,4"}))) {
    names.push_back(point.name);
    EXPECT_EQ(point.assignments.size(), 2U);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"optim.learning_rate=0.001,model.n_layer=2", "optim.learning_rate=0.001,model.n_layer=4",
                                             "optim.learning_rate=0.002,model.n_layer=2", "optim.learning_rate=0.002,model.n_layer=4"}));
}

TEST(Grid, IsOnePointWithoutVariations) {
  ASSERT_EQ(grid_of({}).size(), 1U);
  EXPECT_EQ(grid_of({})[0].name, "");
}

TEST(Grid, NamesAreSafeAndDifferentAsFileNames) {
  const auto points = grid_of(parsed({"train.init_from=../a/b,../a_b,.. a"}));
  EXPECT_EQ(points[0].name, "train.init_from=..%2Fa%2Fb");
  EXPECT_EQ(points[1].name, "train.init_from=..%2Fa_b");
  EXPECT_EQ(points[2].name, "train.init_from=..%20a");
  EXPECT_EQ(points[0].assignments[0], "train.init_from=\"../a/b\"");
}

TEST(Grid, LongNamesAreCutAndStayDifferent) {
  const std::string path(250, 'x');
  const auto points = grid_of(parsed({"train.init_from=" + path + "1," + path + "2"}));
  EXPECT_LT(points[0].name.size(), 200U);
  EXPECT_NE(points[0].name, points[1].name);
}

TEST(Grid, HasALimit) {
  std::string many = "train.batch_size=";
  for (int i = 1; i <= 101; ++i) {
    many += (i == 1 ? "" : ",") + std::to_string(i);
  }
  std::string layers = "model.n_layer" + many.substr(many.find('='));
  EXPECT_TRUE(contains(input_error_of([&] { grid_of(parsed({many, layers})); }), "more than 10000 combinations"));
}

TEST(Variations, TellAllThatIsWrongAtOnce) {
  const std::string what = refused({"optim.learning_rte=1", "model.n_layer=2,many,2", "nothing", "=3", "data.val_fraction=0.1,0.2",
                                    "tokenizer.kind=char,byte", "train.seed=1,2", "optim.beta1=0.9", "optim.beta1=0.8"});
  for (const char* part :
       {"unknown key optim.learning_rte", "did you mean optim.learning_rate?", "--vary model.n_layer: model.n_layer is \"many\"",
        "model.n_layer: 2 is given twice", "\"nothing\": expected section.key=value,value", "\"=3\": expected", "different texts or tokens",
        "give seeds with --seeds", "optim.beta1 is varied twice"}) {
    EXPECT_TRUE(contains(what, part)) << part << "\n" << what;
  }
}

TEST(Variations, KnowEqualValuesThatAreWrittenDifferently) {
  EXPECT_TRUE(contains(refused({"optim.learning_rate=1e-3,0.001"}), "0.001 is given twice"));
  EXPECT_TRUE(contains(refused({"optim.learning_rate=1e-3,"}), "optim.learning_rate is \"\""));
}

TEST(Seeds, AreIntegersOnce) {
  EXPECT_EQ(parse_seeds("3, 1,2"), (std::vector<index>{3, 1, 2}));
  EXPECT_TRUE(contains(input_error_of([] { parse_seeds("1,x"); }), "--seeds: train.seed is \"x\""));
  EXPECT_TRUE(contains(input_error_of([] { parse_seeds("1,1"); }), "1 is given twice"));
  EXPECT_TRUE(contains(input_error_of([] { parse_seeds(""); }), "expected an integer"));
}

}  // namespace
}  // namespace dikkat
