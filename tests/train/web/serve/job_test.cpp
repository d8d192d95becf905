#include "train/web/serve/job.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/throws.h"
#include "tests/train/web/serve/small_model.h"

namespace dikkat {
namespace {

using std::chrono::milliseconds;

std::shared_ptr<Job> a_job() {
  static const SmallModel model(16);
  static const ServedModel served = model.served();
  return std::make_shared<Job>(served, ApiRequest{}, std::vector<Token>{1});
}

TEST(Job, HandsPiecesOverInOrder) {
  const auto job = a_job();
  std::thread gives([&] {
    for (int i = 0; i < 1000; ++i) {
      job->give({.text = concat(i, ' ')});
    }
    job->end(1000, 0.5);
  });
  std::string text, expected;
  while (!job->is_over()) {
    for (const Piece& piece : job->take(milliseconds(50))) {
      text += piece.text;
    }
  }
  gives.join();
  for (int i = 0; i < 1000; ++i) {
    append_to(expected, concat(i, ' '));
  }
  EXPECT_EQ(text, expected);
  EXPECT_EQ(job->generated(), 1000);
  EXPECT_EQ(job->seconds(), 0.5);
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
  std::vector<Job*> done;
  queue.run([&] { return done.size() == 2; }, [&](Job& job) { done.push_back(&job); });
  EXPECT_EQ(done, (std::vector<Job*>{first.get(), third.get()}));
}

TEST(JobQueue, FailsWaitingJobsWhenItEnds) {
  JobQueue queue(2);
  const auto job = a_job();
  queue.add(job);
  queue.run([] { return true; }, [](Job&) { FAIL() << "no work after the end"; });
  EXPECT_EQ(testing::error_of([&] { job->is_over(); }), server_ends().what());
  EXPECT_EQ(testing::error_of([&] { queue.add(a_job()); }), server_ends().what());
}

}  // namespace
}  // namespace dikkat
