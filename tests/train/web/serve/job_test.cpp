#include "train/web/serve/job.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/web/serve/small_model.h"

namespace dikkat::serve {
namespace {

using std::chrono::milliseconds;

std::shared_ptr<Job> a_job() {
  static const SmallModel model(16);
  static const ServedModel served = model.served();
  return std::make_shared<Job>(served, ApiRequest{}, std::vector<std::vector<Token>>{{1}});
}

TEST(Job, HandsPiecesOverInOrder) {
  const auto job = a_job();
  job->begin();
  std::thread gives([&] {
    for (int i = 0; i < 1000; ++i) {
      job->note_tokens(1, 0, i < 3 ? 1 : 0);
      job->give({.text = concat(i, ' ')});
    }
    job->end();
  });
  std::string text, expected;
  while (!job->is_over()) {
    for (const AnswerDelta& piece : job->take(milliseconds(50))) {
      text += piece.text;
    }
  }
  gives.join();
  for (int i = 0; i < 1000; ++i) {
    append_to(expected, concat(i, ' '));
  }
  EXPECT_EQ(text, expected);
  EXPECT_EQ(job->generated(), 1000);
  const Usage usage = job->usage();
  EXPECT_EQ(usage.prompt, 1);
  EXPECT_EQ(usage.completion, 1000);
  EXPECT_EQ(usage.cached, 0) << "the fewest of a choice";
  EXPECT_GE(usage.reading, 0);
  EXPECT_GT(usage.generating, 0);
  EXPECT_GE(job->first_token(), usage.reading);
  EXPECT_NEAR(usage.rate() * usage.generating, 999, 1e-6);
}

TEST(Job, CountsTheTokensOfAllPrompts) {
  static const SmallModel model(16);
  static const ServedModel served = model.served();
  ApiRequest request{.prompts = {{.text = "ab"}, {.text = "c"}}};
  request.options.num_samples = 2;
  Job job(served, std::move(request), {{1, 2}, {3}});
  EXPECT_EQ(job.choices(), 4);
  EXPECT_EQ(job.prompt_of(1), 0U);
  EXPECT_EQ(job.prompt_of(2), 1U);
  job.note_tokens(0, 0, 2);
  job.note_tokens(1, 0, 2);
  job.note_tokens(1, 1, 1);
  job.note_tokens(1, 3, 1);
  const Usage usage = job.usage();
  EXPECT_EQ(usage.prompt, 3);
  EXPECT_EQ(usage.completion, 3);
  EXPECT_EQ(usage.cached, 1 + 1) << "the fewest of a choice of each prompt";
}

TEST(Job, ThatFailsReportsItAfterItsPieces) {
  const auto job = a_job();
  job->give({.text = "a"});
  job->fail({500, "broken"});
  EXPECT_FALSE(job->is_over()) << "a piece is left";
  EXPECT_EQ(job->take(milliseconds(1)).size(), 1U);
  EXPECT_EQ(testing::error_of([&] { job->is_over(); }), "broken");
}

TEST(JobQueue, RefusesMoreThanMayWait) {
  JobQueue queue(2);
  const auto first = a_job(), second = a_job(), third = a_job();
  queue.add(first);
  queue.add(second);
  EXPECT_TRUE(testing::names(testing::error_of([&] { queue.add(third); }), {"2 requests"}));
  second->cancel();
  queue.add(third);  // replaces one that nobody waits for
  EXPECT_EQ(queue.take(milliseconds(0)), first);
  EXPECT_EQ(queue.waiting(), 1U);
  EXPECT_EQ(queue.take(milliseconds(0)), third);
  EXPECT_EQ(queue.take(milliseconds(1)), nullptr);
}

TEST(JobQueue, SkipsJobsThatNobodyWaitsFor) {
  JobQueue queue(3);
  const auto first = a_job(), second = a_job();
  queue.add(first);
  queue.add(second);
  first->cancel();
  EXPECT_EQ(queue.take(milliseconds(0)), second);
}

TEST(JobQueue, FailsWaitingJobsWhenItCloses) {
  JobQueue queue(2);
  const auto job = a_job();
  queue.add(job);
  EXPECT_FALSE(queue.is_closed());
  queue.close();
  EXPECT_TRUE(queue.is_closed());
  EXPECT_EQ(testing::error_of([&] { job->is_over(); }), server_ends().what());
  EXPECT_EQ(testing::error_of([&] { queue.add(a_job()); }), server_ends().what());
  EXPECT_EQ(queue.take(milliseconds(0)), nullptr);
}

}  // namespace
}  // namespace dikkat::serve
