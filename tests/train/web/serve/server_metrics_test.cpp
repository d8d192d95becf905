#include "train/web/serve/server_metrics.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/train/web/serve/prometheus_text.h"

namespace dikkat::serve {
namespace {

using testing::PrometheusText;

TEST(PrometheusText, RefusesWhatIsNotTheFormat) {
  const std::string head = "# HELP a_total b\n# TYPE a_total counter\n";
  EXPECT_EQ(PrometheusText(head + "a_total{x=\"\\\\\\\"\\n\",y=\"\"} 3\na_total 1e3\n").value("a_total"), 1000);
  for (const std::string& wrong :
       {head + "a_total 3",
        head + "a_total\n",
        head + "a_total x\n",
        head + "a_total NaN\n",
        head + "a_total -1\n",
        head + "b_total 3\n",
        head + "a_total 3 \n",
        head + "a_total  3\n",
        head + "a_total 3\na_total 4\n",
        head + "a_total{} 3\n\n",
        head + "a_total{x=1} 3\n",
        head + "a_total{x=\"1} 3\n",
        head + "a_total{x=\"\\t\"} 3\n",
        head + "a_total{x=\"1\"y=\"2\"} 3\n",
        head + head,
        head + "a_total{x=\"1\",x=\"2\"} 3\n",
        std::string("a_total 3\n"),
        std::string("# TYPE a_total counter\na_total 3\n"),
        std::string("# HELP a b\n# TYPE a counter\na 3\n"),
        std::string("# HELP a b\n# TYPE a cake\na 3\n"),
        std::string("# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 3\na_sum 1\na_count 3\n"),
        std::string("# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 3\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 2\n"),
        std::string("# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 3\na_bucket{le=\"+Inf\"} 3\na_count 3\n"),
        std::string("# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 3\na_bucket{le=\"+Inf\"} 3\na_sum 1\na_count 4\n")}) {
    EXPECT_THROW(PrometheusText{wrong}, std::runtime_error) << wrong;
  }
}

TEST(ServerMetrics, AreInPrometheussFormat) {
  ServerMetrics metrics;
  const PrometheusText none(metrics.text({}));
  EXPECT_EQ(none.value("dikkat_generated_tokens_total"), 0);
  EXPECT_EQ(none.value("dikkat_request_duration_seconds_count"), 0);

  metrics.count_response("/v1/completions", 200);
  metrics.count_response("/v1/completions", 200);
  metrics.count_response("/v1/completions", 400);
  metrics.count_response("a\"\\\nb", 404);
  for (const index tokens : {5, 7, 0}) {
    metrics.begin_answer(tokens);
  }
  metrics.count_cached(3);
  for (const double seconds : {0.01, 0.02, 0.3, 1000.0}) {
    metrics.count_token(seconds);
    metrics.count_token();
  }
  metrics.end_answer(2);
  const PrometheusText found(metrics.text({.waiting = 9, .resident = 123'456'789'012}));
  EXPECT_EQ(found.value(R"(dikkat_http_requests_total{endpoint="/v1/completions",status="200"})"), 2);
  EXPECT_EQ(found.value(R"(dikkat_http_requests_total{endpoint="/v1/completions",status="400"})"), 1);
  EXPECT_EQ(found.value(R"(dikkat_http_requests_total{endpoint="a\"\\\nb",status="404"})"), 1);
  EXPECT_EQ(found.value("dikkat_prompt_tokens_total"), 12);
  EXPECT_EQ(found.value("dikkat_prompt_cache_hit_tokens_total"), 3);
  EXPECT_EQ(found.value("dikkat_generated_tokens_total"), 8);
  EXPECT_EQ(found.value("dikkat_requests_running"), 2);
  EXPECT_EQ(found.value("dikkat_requests_waiting"), 9);
  EXPECT_EQ(found.value("process_resident_memory_bytes"), 123'456'789'012);
  const auto bucket = [&](const char* bound) {
    return found.value(concat("dikkat_time_to_first_token_seconds_bucket{le=\"", bound, "\"}"));
  };
  EXPECT_EQ(bucket("0.01"), 1) << "a bound belongs to its bucket";
  EXPECT_EQ(bucket("0.025"), 2);
  EXPECT_EQ(bucket("0.25"), 2);
  EXPECT_EQ(bucket("0.5"), 3);
  EXPECT_EQ(bucket("500"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
  EXPECT_NEAR(found.value("dikkat_time_to_first_token_seconds_sum"), 1000.33, 1e-9);
  EXPECT_EQ(found.value("dikkat_request_duration_seconds_count"), 1);
}

TEST(ServerMetrics, LoseNothingAmongThreads) {
  ServerMetrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        metrics.count_token();
        metrics.count_response("/", 200);
        metrics.begin_answer(2);
        metrics.end_answer(0.1);
        if (j % 100 == 0) {
          PrometheusText{metrics.text({})};
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const PrometheusText found(metrics.text({}));
  EXPECT_EQ(found.value("dikkat_generated_tokens_total"), 4000);
  EXPECT_EQ(found.value("dikkat_request_duration_seconds_count"), 4000);
  EXPECT_EQ(found.value(R"(dikkat_http_requests_total{endpoint="/",status="200"})"), 4000);
}

}  // namespace
}  // namespace dikkat::serve
