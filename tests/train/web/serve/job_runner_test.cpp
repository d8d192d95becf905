#include "train/web/serve/job_runner.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/web/serve/small_model.h"
#include "train/sample/prompt_cache.h"

namespace dikkat::serve {
namespace {

using std::chrono::milliseconds;

/// A runner on a thread of its own, until the end of the test.
class RunnerInThread {
 public:
  explicit RunnerInThread(const ServedModel& model, index streams, milliseconds grace = milliseconds(0))
      : model_(model), runner_(model.gpt, queue_, {.scheduler = {.streams = streams}, .grace = grace}) {
    thread_ = std::thread([this] { runner_.run([this] { return stops_.load(); }); });
  }
  ~RunnerInThread() { end(); }
  void stop() { stops_ = true; }
  void end() {
    stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  std::shared_ptr<Job> add(const std::string& prompt, index tokens, std::uint64_t seed = 1, index choices = 1) {
    ApiRequest request{.prompts = {{.text = prompt}}, .max_tokens = tokens, .seed = Seed{.bits = seed}};
    request.options.num_samples = choices;
    return add(std::move(request));
  }
  std::shared_ptr<Job> add(ApiRequest request) {
    std::vector<std::vector<Token>> prompts = prompt_tokens(model_, request);
    const auto job = std::make_shared<Job>(model_, std::move(request), std::move(prompts));
    queue_.add(job);
    return job;
  }
  JobQueue& queue() { return queue_; }

 private:
  const ServedModel& model_;
  JobQueue queue_{100};
  JobRunner runner_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

/// Returns the texts of an answer's choices, once they are complete. Throws the job's error.
std::vector<std::string> texts_of(Job& job) {
  std::vector<std::string> texts(static_cast<std::size_t>(job.choices()));
  while (!job.is_over()) {
    for (const AnswerDelta& piece : job.take(milliseconds(50))) {
      texts[static_cast<std::size_t>(piece.choice)] += piece.text;
    }
  }
  return texts;
}

void wait_for_text(Job& job) {
  while (job.take(milliseconds(50)).empty()) {
  }
}

class OnlyA : public TokenConstraint {
 public:
  void mask(std::span<float> logits) override {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = i == 'a' ? 0 : -std::numeric_limits<float>::infinity();
    }
  }
  void accept(Token) override {}
  bool is_complete() const override { return false; }
};

constexpr index kManyTokens = 99'000;

TEST(JobRunner, AnswersTogetherAsOneByOne) {
  const ServedModel model = small_model().served();
  const auto add = [](RunnerInThread& runner, int i) {
    return runner.add(std::string(static_cast<std::size_t>(1 + 37 * i % 150), static_cast<char>('a' + i)), 5 + 3 * i,
                      static_cast<std::uint64_t>(i), 1 + i % 3);
  };
  std::vector<std::vector<std::string>> expected;
  {
    RunnerInThread runner(model, 1);
    for (int i = 0; i < 12; ++i) {
      expected.push_back(texts_of(*add(runner, i)));
    }
  }
  RunnerInThread runner(model, 4);
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 12; ++i) {
    jobs.push_back(add(runner, i));
  }
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(texts_of(*jobs[i]), expected[i]) << i;
    EXPECT_EQ(jobs[i]->generated(), (5 + 3 * static_cast<index>(i)) * std::ssize(expected[i]));
  }
}

TEST(JobRunner, GivesEachStreamAToken) {
  const ServedModel model = large_model().served();
  RunnerInThread runner(model, 2);
  const auto first = runner.add("a", kManyTokens);
  wait_for_text(*first);
  const auto second = runner.add("b", kManyTokens), third = runner.add("c", 3);
  wait_for_text(*second);
  EXPECT_TRUE(third->take(milliseconds(100)).empty()) << "both streams are in use";
  EXPECT_EQ(runner.queue().waiting(), 1U);
  second->cancel();
  texts_of(*third);
  wait_for_text(*first);
  EXPECT_EQ(third->generated(), 3);
  first->cancel();
}

TEST(JobRunner, TakesMoreChoicesThanStreams) {
  const ServedModel model = small_model().served();
  RunnerInThread runner(model, 3);
  const auto many = runner.add("Once", 10, 4, 8);
  const auto one = runner.add("Once", 10, 4);
  const std::vector<std::string> texts = texts_of(*many);
  EXPECT_EQ(many->generated(), 80);
  EXPECT_EQ(texts_of(*one)[0], texts[0]);
  EXPECT_GT(std::set(texts.begin(), texts.end()).size(), 1U);
}

TEST(JobRunner, AJobWithManyChoicesLetsOthersBegin) {
  const ServedModel model = small_model().served();
  RunnerInThread runner(model, 2);
  ApiRequest request{.max_tokens = 20, .seed = Seed{.bits = 1}};
  for (int i = 0; i < 1000; ++i) {
    request.prompts.push_back({.text = concat("Text ", i)});
  }
  const auto many = runner.add(std::move(request));
  wait_for_text(*many);
  for (int i = 0; i < 3; ++i) {
    const auto one = runner.add("Once", 5, 4);
    EXPECT_EQ(texts_of(*one).size(), 1U);
    EXPECT_EQ(one->generated(), 5);
    EXPECT_LT(many->generated(), 2000);
  }
  const auto second = runner.add("Once", 5, 4);
  many->cancel();
  texts_of(*second);
  EXPECT_LT(many->generated(), 2000) << "choices that have not begun never do";
}

TEST(JobRunner, AJobThatFailsEndsOnlyItself) {
  const ServedModel model = large_model().served();
  RunnerInThread runner(model, 3);
  const auto runs = runner.add("a", kManyTokens);
  wait_for_text(*runs);
  const auto fails = runner.add({.prompts = {{.text = "b"}}, .max_tokens = 5});  // it has no seed
  EXPECT_NE(testing::error_of([&] { texts_of(*fails); }), "");
  wait_for_text(*runs);
  EXPECT_EQ(texts_of(*runner.add("c", 3))[0].empty(), false);
  runs->cancel();
}

TEST(JobRunner, AModelThatFailsEndsOnlyItsJob) {
  SmallModel broken(4000, false);  // otherwise the logit of 'x' would be NaN too, after any text
  broken.store.weights<float>()[broken.store.entry("wte.weight").offset + 'x' * 16] = std::nanf("");
  const ServedModel model = broken.served();
  ApiRequest request{.prompts = {{.text = "a"}}, .max_tokens = 3000, .seed = Seed{.bits = 1}};
  request.options.constraint = [] { return std::make_unique<OnlyA>(); };
  const std::string all(3000, 'a');
  RunnerInThread runner(model, 3);
  const auto runs = runner.add(request);
  for (int i = 0; i < 3; ++i) {
    const auto fails = runner.add("x", 5, 1, 2);
    EXPECT_TRUE(testing::names(testing::error_of([&] { texts_of(*fails); }), {"NaN"}));
  }
  EXPECT_EQ(texts_of(*runs)[0], all);
}

TEST(JobRunner, AConstraintThatThrowsEndsOnlyItsJob) {
  const ServedModel model = small_model().served();
  RunnerInThread runner(model, 2);
  for (int i = 0; i < 3; ++i) {
    ApiRequest request{.prompts = {{.text = "a"}}, .max_tokens = 30, .seed = Seed{.bits = 1}};
    request.options.constraint = []() -> std::unique_ptr<TokenConstraint> { throw ApiError(400, "too many states"); };
    const auto fails = runner.add(std::move(request)), one = runner.add("b", 30);
    EXPECT_EQ(testing::error_of([&] { texts_of(*fails); }), "too many states");
    EXPECT_FALSE(texts_of(*one)[0].empty());
  }
}

TEST(JobRunner, LetsRunningAnswersEndWithinTheGrace) {
  const ServedModel model = large_model().served();
  const std::string expected = [&] {
    RunnerInThread runner(model, 1);
    return texts_of(*runner.add("a", 400))[0];
  }();
  RunnerInThread runner(model, 1, milliseconds(60'000));
  const auto runs = runner.add("a", 400);
  std::string text;
  while (text.empty()) {
    for (const AnswerDelta& piece : runs->take(milliseconds(50))) {
      text += piece.text;
    }
  }
  const auto waits = runner.add("b", 3);
  runner.stop();
  text += texts_of(*runs)[0];
  EXPECT_EQ(text, expected);
  EXPECT_EQ(testing::error_of([&] { texts_of(*waits); }), server_ends().what()) << "it had not begun";
  EXPECT_EQ(testing::error_of([&] { runner.add("c", 3); }), server_ends().what());
}

TEST(JobRunner, FailsWhatHasNotEndedAfterTheGrace) {
  const ServedModel model = large_model().served();
  for (const int grace : {0, 200}) {
    RunnerInThread runner(model, 2, milliseconds(grace));
    const auto first = runner.add("a", kManyTokens), second = runner.add("b", kManyTokens, 1, 2);
    wait_for_text(*first);
    const auto began = std::chrono::steady_clock::now();
    runner.end();
    EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(grace));
    EXPECT_EQ(testing::error_of([&] { texts_of(*first); }), server_ends().what());
    EXPECT_EQ(testing::error_of([&] { texts_of(*second); }), server_ends().what());
  }
}

}  // namespace
}  // namespace dikkat::serve
