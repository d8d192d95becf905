#include "train/web/serve/feedback.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "train/chat/read_messages.h"
#include "train/system/descriptor.h"
#include "train/system/file.h"
#include "train/system/json.h"
#include "train/web/serve/api_error.h"
#include "train/web/serve/api_request.h"

namespace dikkat::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostTurns = 2048;
constexpr std::size_t kLongestModelName = 256;
constexpr std::string_view kLineStarts[] = {R"({"prompt":[)", R"({"prompt":")"};  // starts of the lines of rating_line()
constexpr JsonLimits kRatingLimits{.bytes = kLargestRequest, .levels = 32, .values = std::size_t{1} << 17};

[[noreturn]] void reject(const std::string& field, const std::string& what) { throw ApiError(400, what, field, "invalid_value"); }

/// Throws ApiError unless the field is a string, or messages that examples may have.
void check_messages(const ordered_json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) {
    reject(name, concat("there is no ", name, ", expected a list of messages, or a string"));
  }
  if (found->is_string()) {
    return;
  }
  if (!found->is_array() || found->empty() || found->size() > kMostTurns) {
    reject(name, concat(name, " is ", short_text(*found), ", expected a list of 1 to ", kMostTurns, " messages, or a string"));
  }
  try {
    ExampleFindings findings;
    read_messages(*found, name, findings);
    if (const std::string unused = findings.unused_keys(); !unused.empty()) {
      reject(name, concat(name, " has keys that are not known: ", unused));
    }
  } catch (const BadExample& error) {
    reject(error.path(), error.what());
  }
}

/// Returns whether a completion (a string or a list of one message) has nothing that could be rated.
bool is_empty(const ordered_json& completion) {
  if (completion.is_string()) {
    return completion.get_ref<const std::string&>().empty();
  }
  const auto has = [&](const char* name) {
    const auto found = completion[0].find(name);
    return found != completion[0].end() && !found->is_null() && !found->empty() && *found != "";
  };
  return !has("content") && !has("reasoning_content") && !has("tool_calls");
}

/// Checks the body of a request, and returns its line.
std::string rating_line(std::string_view body) {
  ordered_json object;
  try {
    object = parse_json<ordered_json>(body, kRatingLimits);
  } catch (const JsonError& error) {
    throw ApiError(400, concat("the body ", error.what()), "", "invalid_json");
  }
  if (!object.is_object()) {
    throw ApiError(400, R"(the body is not an object, expected {"prompt": ..., "completion": ..., "label": true or false})", "",
                   "invalid_json");
  }
  // Check the names of the fields.
  for (const auto& [name, value] : object.items()) {
    if (name != "prompt" && name != "completion" && name != "label" && name != "model") {
      reject(name, concat("the field ", short_text(ordered_json(name)), " is not known, expected prompt, completion, label and model"));
    }
  }
  // Check prompt and completion, which have one form.
  check_messages(object, "prompt");
  check_messages(object, "completion");
  const ordered_json& completion = object["completion"];
  if (completion.is_string() != object["prompt"].is_string()) {
    reject("completion", "one of prompt and completion is a string and the other a list, expected two strings or two lists of messages");
  }
  if (completion.is_array() && (completion.size() != 1 || completion[0]["role"] != "assistant")) {
    reject("completion", "the completion has other messages, expected one of the assistant");
  }
  if (is_empty(completion)) {
    reject("completion", "the completion is empty, expected a text, reasoning or calls");
  }
  // Check the label.
  const auto label = object.find("label");
  if (label == object.end() || !label->is_boolean()) {
    reject("label", label == object.end() ? "there is no label, expected true or false"
                                          : concat("label is ", short_text(*label), ", expected true or false"));
  }
  // Make the line, with the optional model and the time.
  ordered_json line = {{"prompt", object["prompt"]}, {"completion", completion}, {"label", *label}};
  if (const auto model = object.find("model"); model != object.end()) {
    if (!model->is_string() || model->get_ref<const std::string&>().size() > kLongestModelName) {
      reject("model", concat("model is ", short_text(*model), ", expected a name of up to ", kLongestModelName, " bytes"));
    }
    line["model"] = *model;
  }
  line["time"] = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return json_text(line) + '\n';
}

/// Waits a moment for the lock of another program. A file system without locks counts as free.
bool lock_for_a_moment(int descriptor) {
  constexpr int kTries = 40;
  constexpr auto kPause = std::chrono::milliseconds(50);
  for (int i = 0; i < kTries; ++i) {
    if (lock_descriptor(descriptor, nullptr) != EWOULDBLOCK) {
      return true;
    }
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

/// Removes half a rating at the end of the file, which a killed server has left and never confirmed. Keeps any other text without a line
/// break. The caller holds the file's lock. Returns errno, or 0.
int cut_half_line(int descriptor) {
  constexpr index kMost = 2 * static_cast<index>(kLargestRequest);  // more than the longest line
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    return errno;
  }
  std::byte last{'\n'};
  if (const int error = status.st_size > 0 ? read_all(descriptor, status.st_size - 1, {&last, 1}) : 0) {
    return error;
  }
  if (last == std::byte{'\n'}) {
    return 0;
  }
  const index begin = std::max<index>(0, status.st_size - kMost);
  std::string end(static_cast<std::size_t>(status.st_size - begin), '\0');
  if (const int error = read_all(descriptor, begin, std::as_writable_bytes(std::span(end)))) {
    return error;
  }
  const std::size_t line_break = end.rfind('\n');
  const std::string_view line = std::string_view(end).substr(line_break == std::string::npos ? 0 : line_break + 1);
  const bool is_rating =
      std::ranges::any_of(kLineStarts, [&](std::string_view start) { return line.starts_with(start.substr(0, line.size())); });
  if (!is_rating || (line_break == std::string::npos && begin > 0) || try_json(line)) {
    return 0;
  }
  return cut_file(descriptor, status.st_size - static_cast<index>(line.size()));
}

std::string write_problem(int error) { return error == EINVAL ? "it is not a regular file" : describe_errno(error); }

[[noreturn]] void reject_write(int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw ApiError(is_full ? 507 : 500, concat("the rating was not kept, because its file cannot be written: ", write_problem(error)), "",
                 is_full ? "storage_full" : "");
}

}  // namespace

FeedbackFile::FeedbackFile(std::filesystem::path path) : path_(std::move(path)) {
  Descriptor descriptor(-1);
  if (const int error = open_for_appending(path_, descriptor)) {
    require_input(error != EINVAL, path_.string(), " is not a regular file, expected one to which ratings are appended");
    require_path(error, path_.string(), ": ratings cannot be appended");
  }
  if (lock_for_a_moment(descriptor.get())) {  // otherwise its holder does this
    require_path(cut_half_line(descriptor.get()), path_.string(), ": ratings cannot be appended");
  }
}

void FeedbackFile::add(std::string_view body) {
  const std::string line = rating_line(body);
  const std::lock_guard guard(mutex_);
  Descriptor descriptor(-1);  // opened each time, because the file may be moved away meanwhile
  if (const int error = open_for_appending(path_, descriptor)) {
    reject_write(error);
  }
  if (!lock_for_a_moment(descriptor.get())) {
    throw ApiError(503, "the file of ratings is locked by another program: try again in a moment", "", "overloaded");
  }
  if (const int error = cut_half_line(descriptor.get())) {
    reject_write(error);
  }
  if (const int error = append_line(descriptor.get(), line)) {
    reject_write(error);
  }
}

}  // namespace dikkat::serve
