#include "train/sweep/grid.h"

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

std::vector<Variation> parsed(const std::vector<std::string>& texts) { return parse_variations(texts); }
std::string refused(const std::vector<std::string>& texts) {
  return input_error_of([&] { parsed(texts); });
}

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
  EXPECT_TRUE(names(input_error_of([&] { grid_of(parsed({many, layers})); }), {"--vary", "10000"}));
}

TEST(Variations, ReportAllErrorsAtOnce) {
  const std::string what = refused({"optim.learning_rte=1", "model.n_layer=2,many,2", "nothing", "=3", "data.val_fraction=0.1,0.2",
                                    "tokenizer.kind=char,byte", "train.seed=1,2", "optim.beta1=0.9", "optim.beta1=0.8"});
  // There are nine problems, each on its line: data.val_fraction and tokenizer.kind have one each.
  std::vector<std::string> lines;
  std::istringstream text(what);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 9U) << what;
  EXPECT_TRUE(names(lines[0], {"--vary", "unknown", "optim.learning_rte", "optim.learning_rate"}));
  EXPECT_TRUE(names(lines[1], {"--vary", "model.n_layer", "\"many\""}));
  EXPECT_TRUE(names(lines[2], {"--vary", "model.n_layer", "2", "twice"}));
  EXPECT_TRUE(names(lines[3], {"--vary", "\"nothing\"", "section.key=value,value"}));
  EXPECT_TRUE(names(lines[4], {"--vary", "\"=3\"", "section.key=value,value"}));
  EXPECT_TRUE(names(lines[5], {"--vary", "data.val_fraction", "compared"}));
  EXPECT_TRUE(names(lines[6], {"--vary", "tokenizer.kind", "compared"}));
  EXPECT_TRUE(names(lines[7], {"--vary", "train.seed", "--seeds"}));
  EXPECT_TRUE(names(lines[8], {"--vary", "optim.beta1", "twice"}));
}

TEST(Variations, KnowEqualValuesThatAreWrittenDifferently) {
  EXPECT_TRUE(names(refused({"optim.learning_rate=1e-3,0.001"}), {"--vary", "optim.learning_rate", "0.001", "twice"}));
  EXPECT_TRUE(names(refused({"optim.learning_rate=1e-3,"}), {"optim.learning_rate", "\"\""}));
}

TEST(Seeds, AreIntegersOnce) {
  EXPECT_EQ(parse_seeds("3, 1,2"), (std::vector<index>{3, 1, 2}));
  EXPECT_TRUE(names(input_error_of([] { parse_seeds("1,x"); }), {"--seeds", "train.seed", "\"x\""}));
  EXPECT_TRUE(names(input_error_of([] { parse_seeds("1,1"); }), {"--seeds", "1", "twice"}));
  EXPECT_TRUE(names(input_error_of([] { parse_seeds(""); }), {"--seeds", "\"\"", "integer"}));
}

}  // namespace
}  // namespace dikkat
