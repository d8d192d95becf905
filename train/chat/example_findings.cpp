#include "train/chat/example_findings.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/format_numbers.h"
#include "train/system/json.h"
#include "train/text/windows_lines.h"

namespace dikkat {
namespace {

const char* unit_of(KeyPlace place, index count) {
  switch (place) {
    case KeyPlace::line: return count == 1 ? " line" : " lines";
    case KeyPlace::message: return count == 1 ? " message" : " messages";
    case KeyPlace::part: return count == 1 ? " part of a message" : " parts of messages";
  }
  fail("example keys: unknown place");
}

}  // namespace

std::string ExampleFindings::unused_keys() const {
  constexpr std::size_t kMost = 10;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [key, count] : unused) {
    if (shown++ == kMost) {
      append_to(text, concat(" and ", unused.size() - kMost, " more"));
      break;
    }
    append_to(text, concat(text.empty() ? "" : ", ", short_text(nlohmann::json(key.second)), key.first == KeyPlace::line ? " on " : " in ",
                           grouped_digits(count), unit_of(key.first, count)));
  }
  return text;
}

std::vector<std::string> ExampleFindings::notes() const {
  std::vector<std::string> all(tables.begin(), tables.end());
  if (!unused.empty()) {
    all.push_back(concat("keys that do not change what is learned: ", unused_keys()));
  }
  if (left_out > 0) {
    all.push_back(concat(grouped_digits(left_out), left_out == 1 ? " example is" : " examples are",
                         R"( left out, because "label", "weight", "train" or "loss" of the line excludes it from training)"));
  }
  if (judged_again > 0) {
    all.push_back(concat(grouped_digits(judged_again), judged_again == 1 ? " line is" : " lines are",
                         " left out, because an earlier line has the same answer to the same prompt; it gets the last judgment"));
  }
  if (context_only > 0) {
    all.push_back(concat(grouped_digits(context_only), context_only == 1 ? " message is" : " messages are",
                         R"( read but not learned, because "weight", "train" or "loss" of the message says so)"));
  }
  if (learned_anyway > 0) {
    all.push_back(concat(grouped_digits(learned_anyway), learned_anyway == 1 ? " message" : " messages",
                         R"( of the user or the system are learned, because "weight", "train" or "loss" of the message says so)"));
  }
  if (empty_answers > 0) {
    all.push_back(concat(grouped_digits(empty_answers), empty_answers == 1 ? " answer is" : " answers are",
                         " empty: the model learns to end an answer without writing anything"));
  }
  if (windows_lines > 0) {
    all.push_back(note_on_windows_lines(
        concat(grouped_digits(windows_lines), windows_lines == 1 ? " message or text" : " messages or texts"), windows_lines == 1));
  }
  return all;
}

}  // namespace dikkat
