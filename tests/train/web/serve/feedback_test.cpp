#include "train/web/serve/feedback.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/support/temporary_folder.h"
#include "tests/support/throws.h"
#include "train/system/descriptor.h"
#include "train/system/file.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/api_request.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;

json rating(const std::string& question, const std::string& answer, bool label = true) {
  return {{"prompt", {{{"role", "system"}, {"content", "Be brief."}}, {{"role", "user"}, {"content", question}}}},
          {"completion", {{{"role", "assistant"}, {"content", answer}}}},
          {"label", label},
          {"model", "tiny"}};
}

std::vector<json> lines_of(const std::filesystem::path& path) {
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(json::parse(line, nullptr, false));
    EXPECT_TRUE(lines.back().is_object()) << line;
  }
  return lines;
}

/// The field and status of the refusal of a request.
std::pair<int, std::string> refused(FeedbackFile& file, const std::string& body) {
  try {
    file.add(body);
  } catch (const ApiError& error) {
    EXPECT_GT(std::string(error.what()).size(), 20U);
    return {error.status(), error.param()};
  }
  return {200, ""};
}

TEST(FeedbackFile, KeepsWhatPreferenceTuningReads) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "ratings.jsonl";
  FeedbackFile file(path);
  EXPECT_TRUE(std::filesystem::exists(path)) << "a path that cannot be written is found at the start";
  json thinking = rating("why?", "so", false);
  thinking["completion"][0]["reasoning_content"] = "because";
  file.add(rating("what?", "a \"quote\"\nand a line").dump());
  file.add(thinking.dump());
  file.add(R"({"prompt": "Once", "completion": " upon", "label": true})");
  const std::vector<json> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 3U);
  json first = lines[0];
  EXPECT_GT(first["time"].get<std::int64_t>(), 1'600'000'000);
  first.erase("time");
  EXPECT_EQ(first, rating("what?", "a \"quote\"\nand a line"));
  EXPECT_EQ(lines[1]["completion"][0]["reasoning_content"], "because");
  EXPECT_EQ(lines[1]["label"], false);
  EXPECT_EQ(lines[2]["prompt"], "Once");
  EXPECT_FALSE(lines[2].contains("model"));
}

TEST(FeedbackFile, CutsOffHalfALineOfAKilledServer) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "ratings.jsonl";
  const std::string whole = rating("what?", "that").dump();
  {
    FeedbackFile file(path);
    file.add(whole);
  }
  const std::string line = read_bytes(path);
  for (std::size_t bytes = 1; bytes < line.size() - 1; bytes += 7) {
    replace_file(path, line + line.substr(0, bytes));
    FeedbackFile file(path);
    EXPECT_EQ(read_bytes(path), line) << bytes;
    replace_file(path, line + line.substr(0, bytes));
    file.add(whole);
    EXPECT_EQ(lines_of(path).size(), 2U) << "a server that goes on after another was killed";
  }
  // A whole line without its line break stays, and so does what no server has written.
  for (const std::string& end : {line.substr(0, line.size() - 1), std::string("a note"), std::string("{\"text\": ")}) {
    replace_file(path, line + end);
    FeedbackFile file(path);
    file.add(whole);
    EXPECT_TRUE(read_bytes(path).starts_with(line + end + '\n')) << end;
  }
}

TEST(FeedbackFile, RefusesEverythingElse) {
  const TemporaryFolder folder;
  FeedbackFile file(folder / "ratings.jsonl");
  const auto changed = [](auto&& change) {
    json body = rating("what?", "that");
    change(body);
    return body.dump();
  };
  using Refusal = std::pair<int, std::string>;
  EXPECT_EQ(refused(file, "{"), Refusal(400, ""));
  EXPECT_EQ(refused(file, "[]"), Refusal(400, ""));
  EXPECT_EQ(refused(file, std::string(100, '[') + std::string(100, ']')), Refusal(400, ""));
  EXPECT_EQ(refused(file, std::string(kLargestRequest + 1, ' ')), Refusal(400, ""));
  for (const char* field : {"prompt", "completion", "label"}) {
    EXPECT_EQ(refused(file, changed([&](json& body) { body.erase(field); })), Refusal(400, field));
    EXPECT_EQ(refused(file, changed([&](json& body) { body[field] = 7; })), Refusal(400, field));
    EXPECT_EQ(refused(file, changed([&](json& body) { body[field] = nullptr; })), Refusal(400, field));
    EXPECT_EQ(refused(file, changed([&](json& body) { body[field] = json::array(); })), Refusal(400, field));
  }
  EXPECT_EQ(refused(file, changed([](json& body) { body["other"] = 1; })), Refusal(400, "other"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["model"] = std::string(1000, 'x'); })), Refusal(400, "model"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["model"] = 3; })), Refusal(400, "model"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["prompt"][1]["role"] = "boss"; })), Refusal(400, "prompt[1].role"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["prompt"][1]["color"] = "red"; })).first, 400);
  EXPECT_EQ(refused(file, changed([](json& body) { body["prompt"] = "text"; })), Refusal(400, "completion"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["completion"][0]["role"] = "user"; })), Refusal(400, "completion"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["completion"].push_back(body["completion"][0]); })), Refusal(400, "completion"));
  EXPECT_EQ(refused(file, R"({"prompt": "a", "completion": "", "label": true})"), Refusal(400, "completion"));
  EXPECT_EQ(refused(file, changed([](json& body) { body["completion"][0]["content"] = ""; })), Refusal(400, "completion"));
  EXPECT_EQ(std::filesystem::file_size(folder / "ratings.jsonl"), 0U);
}

TEST(FeedbackFile, WritesWholeLinesFromManyThreadsAndFiles) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "ratings.jsonl";
  FeedbackFile one(path), other(path);  // as two servers would have
  constexpr int kThreads = 4, kEach = 30;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        (t % 2 == 0 ? one : other)
            .add(rating(std::to_string(t) + " " + std::to_string(i), std::string(5000, static_cast<char>('a' + t))).dump());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::map<std::string, int> seen;
  for (const json& line : lines_of(path)) {
    ++seen[line["prompt"][1]["content"].get<std::string>()];
    EXPECT_EQ(line["completion"][0]["content"].get<std::string>().size(), 5000U);
  }
  EXPECT_EQ(seen.size(), std::size_t{kThreads * kEach});
}

TEST(FeedbackFile, LeavesNoPartOfALineOnAFullDisk) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "ratings.jsonl";
  FeedbackFile file(path);
  file.add(rating("first", "kept").dump());
  const auto size = std::filesystem::file_size(path);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = size + 50;
  ::setrlimit(RLIMIT_FSIZE, &low);
  const auto refusal = refused(file, rating("second", "lost").dump());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(refusal.first, 507);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  file.add(rating("third", "kept").dump());
  const std::vector<json> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["prompt"][1]["content"], "third");
}

TEST(FeedbackFile, BeginsItsLineAfterAPartOfOne) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "ratings.jsonl";
  std::ofstream(path) << R"({"prompt": "cut o)";
  FeedbackFile(path).add(rating("next", "whole").dump());
  std::ifstream file(path);
  std::string part, line;
  std::getline(file, part);
  std::getline(file, line);
  EXPECT_EQ(part, R"({"prompt": "cut o)");
  EXPECT_EQ(json::parse(line)["prompt"][1]["content"], "next");
}

TEST(FeedbackFile, FollowsAFileThatIsMovedAway) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "ratings.jsonl";
  FeedbackFile file(path);
  file.add(rating("first", "old").dump());
  std::filesystem::rename(path, folder / "old.jsonl");
  file.add(rating("second", "new").dump());
  EXPECT_EQ(lines_of(folder / "old.jsonl").size(), 1U);
  EXPECT_EQ(lines_of(path).size(), 1U);
}

TEST(FeedbackFile, RefusesPathsWithoutRoomForLines) {
  const TemporaryFolder folder;
  EXPECT_TRUE(testing::names(input_error_of([&] { FeedbackFile(folder / "no" / "file.jsonl"); }), {"file.jsonl"}));
  EXPECT_TRUE(testing::names(input_error_of([&] { FeedbackFile(folder.path()); }), {folder.path()}));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  input_error_of([&] { FeedbackFile(folder / "pipe"); });
  input_error_of([&] { FeedbackFile("/dev/full"); });
}

TEST(FeedbackFile, WaitsOnlyAMomentForAnotherProgramsLock) {
  const TemporaryFolder folder;
  FeedbackFile file(folder / "ratings.jsonl");
  const Descriptor other(::open((folder / "ratings.jsonl").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(lock_descriptor(other.get(), nullptr), 0);
  EXPECT_EQ(refused(file, rating("what?", "that").dump()).first, 503);
  ::flock(other.get(), LOCK_UN);
  EXPECT_EQ(refused(file, rating("what?", "that").dump()).first, 200);
}

}  // namespace
}  // namespace dikkat::serve
