#include "train/sample/lm_eval_sample.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"

namespace dikkat {
namespace {

using Json = nlohmann::json;
using Indices = std::vector<index>;

/// A sample in the newer form, with four choices of 2, 3, 4 and 5 characters, of which the first is the likeliest, and the last the
/// likeliest by length.
Json sample(const Json& target) {
  Json line = Json::parse(R"({"doc_id": 3, "doc": {}, "arguments": {}, "filtered_resps": []})");
  line["target"] = target;
  for (int i = 0; i < 4; ++i) {
    line["arguments"]["gen_args_" + std::to_string(i)] = {{"arg_0", "Q:"},
                                                          {"arg_1", " " + std::string(static_cast<std::size_t>(i) + 1, 'b') + "é"}};
    line["filtered_resps"].push_back({std::to_string(-4.0 - 0.5 * i), "False"});
  }
  return line;
}
Question read(const Json& line) { return read_question(line.dump()); }
Indices right_of(const Json& target) { return read(sample(target)).right; }

TEST(LmEvalSample, TargetsAreIndicesOrTexts) {
  EXPECT_EQ(right_of(2), Indices{2});
  EXPECT_EQ(right_of("2"), Indices{2});
  EXPECT_EQ(right_of(Json::array({0, 3})), (Indices{0, 3}));
  EXPECT_EQ(right_of("[0, 3]"), (Indices{0, 3}));
  EXPECT_EQ(right_of("bbé"), Indices{1});
  EXPECT_EQ(right_of(" bbé"), Indices{1});
  Json numbers = sample("20");
  numbers["arguments"]["gen_args_1"]["arg_1"] = " 20";
  EXPECT_EQ(read(numbers).right, Indices{1}) << "20 is not an index";
}

TEST(LmEvalSample, LengthsAreCharactersWithoutTheDelimiter) {
  EXPECT_EQ(read(sample(0)).lengths, (std::vector<double>{2, 3, 4, 5}));
  Json joined = sample(0);
  joined["arguments"]["gen_args_2"]["arg_1"] = "bbb";
  EXPECT_EQ(read(joined).lengths, (std::vector<double>{3, 4, 3, 6})) << "one choice does not begin with a space: it belongs to the others";
}

TEST(LmEvalSample, OlderFilesHavePairs) {
  const Json newer = sample("1");
  Json older = sample(1);
  older["arguments"] = Json::array();
  for (const auto& [name, request] : newer["arguments"].items()) {
    older["arguments"].push_back({request["arg_0"], request["arg_1"]});
  }
  const Question a = read(newer), b = read(older);
  EXPECT_TRUE(a.is_sample());
  EXPECT_EQ(a.choices, b.choices);
  EXPECT_EQ(a.contexts, b.contexts);
  EXPECT_EQ(a.right, b.right);
}

TEST(LmEvalSample, ManyRequestsKeepTheirOrder) {
  Json line = {{"doc_id", 0}, {"target", 11}};
  for (int i = 0; i < 12; ++i) {
    line["arguments"]["gen_args_" + std::to_string(i)] = {{"arg_0", "Q"}, {"arg_1", " " + std::to_string(i)}};
  }
  EXPECT_EQ(read(line).choices.back(), " 11");
}

TEST(LmEvalSample, LoggedScoresMustFollow) {
  for (const auto& [target, acc, acc_norm] : {std::tuple{0, 1.0, 0.0}, {3, 0.0, 1.0}, {1, 0.0, 0.0}}) {
    Json line = sample(target);
    line["acc"] = acc;
    line["acc_norm"] = acc_norm;
    EXPECT_EQ(read(line).right, Indices{target});
    line["acc_norm"] = 1 - acc_norm;
    EXPECT_TRUE(testing::names(input_error_of([&] { read(line); }), {"\"acc_norm\""})) << target;
    line["acc"] = 1 - acc;
    EXPECT_TRUE(testing::names(input_error_of([&] { read(line); }), {"\"acc\"", "\"target\""})) << target;
    line.erase("filtered_resps");
    EXPECT_EQ(read(line).right, Indices{target}) << "nothing can be checked";
  }
  Json line = sample(0);
  line["acc"] = 0.43;  // truthfulqa_mc2
  EXPECT_TRUE(testing::names(input_error_of([&] { read(line); }), {"\"acc\"", "0.43"}));
}

TEST(LmEvalSample, OfTwoContextsTheScoresTellWhichIsRight) {
  Json line = Json::parse(R"({"doc_id": 0, "target": "big.", "arguments": [["the cup was", " big."], ["the egg was", " big."]],
                              "filtered_resps": [[-5.0, false], [-4.0, false]], "acc": 1.0})");
  EXPECT_EQ(read(line).right, Indices{1});
  EXPECT_TRUE(read(line).lengths.empty());
  line["acc"] = 0.0;
  EXPECT_EQ(read(line).right, Indices{0});
  line.erase("acc");
  EXPECT_TRUE(testing::names(input_error_of([&] { read(line); }), {"\"acc\""}));
}

TEST(LmEvalSample, ASingleContinuationHasNoOther) {
  const Question question = read(Json::parse(R"({"doc_id": 0, "target": "b", "arguments": [["a", " b"]], "acc": 0.0})"));
  EXPECT_EQ(question.choices, std::vector<std::string>{" b"});
  EXPECT_TRUE(question.lengths.empty());
}

TEST(LmEvalSample, RefusesOtherSamples) {
  const auto refused = [](const char* path, const Json& value, const std::vector<std::string>& fragments) {
    Json line = sample(0);
    line[Json::json_pointer(path)] = value;
    const std::string message = input_error_of([&] { read(line); });
    EXPECT_TRUE(testing::names(message, fragments)) << path << ' ' << value;
  };
  refused("/target", 4, {"\"target\"", "4", "3"});
  refused("/target", "4", {"\"target\"", "3"});
  refused("/target", -1, {"\"target\"", "-1"});
  refused("/target", Json::array({0, 4}), {"\"target\""});
  refused("/target", Json::array(), {"\"target\""});
  refused("/target", "nobody", {"\"target\"", "nobody"});
  refused("/target", nullptr, {"\"target\""});
  refused("/target", 1e300, {"\"target\""});
  refused("/arguments", nullptr, {"\"arguments\""});
  refused("/arguments", Json::object(), {"\"arguments\""});
  refused("/arguments", "text", {"\"arguments\""});
  refused("/arguments/gen_args_1", Json::array({"Q:", " b"}), {"\"arguments\"", "1"});
  refused("/arguments/gen_args_5", Json::object(), {"\"arguments\"", "4"});
  refused("/arguments/gen_args_2/arg_1", {{"until", {"\n"}}}, {"generate_until", "serve"});
  refused("/arguments/gen_args_2", {{"arg_0", "text"}}, {"loglikelihood_rolling", "--corpus"});
  refused("/arguments/gen_args_2", {{"arg_0", "text"}, {"other", "text"}}, {"\"arguments\"", "2"});
  refused("/arguments/gen_args_2/arg_2", {{"visual", "image"}}, {"3"});
  refused("/arguments/gen_args_2/arg_1", "", {"empty"});
  refused("/arguments/gen_args_2/arg_1", 7, {"text"});
  refused("/arguments/gen_args_2/arg_0", Json::array({"[]"}), {"array", "tokenizer_backend"});
  refused("/acc_mutual_info", 1.0, {"\"acc_mutual_info\""});
}

}  // namespace
}  // namespace dikkat
