#pragma once

#include <filesystem>
#include <mutex>
#include <string_view>

namespace dikkat::serve {

/// A file of JSON lines that collects ratings of answers, in the form that preference tuning reads (unpaired preferences, as TRL has them):
///
///   {"prompt": [messages], "completion": [{"role": "assistant", "content": "..."}], "label": true, "model": "tiny", "time": 1795000000}
///
/// The prompt and the completion of a text are strings. Threads and programs may append to one file at once: each line is whole.
class FeedbackFile {
 public:
  /// Creates the file if it is missing, and removes half a line of a killed server at its end. Throws InputError for a path at which no
  /// line can be appended, and Error for a failure that may be temporary.
  explicit FeedbackFile(std::filesystem::path path);

  /// Appends a line for the body of a request, which has "prompt", "completion" and "label", and may have "model". Throws ApiError for any
  /// other body, and if the line cannot be written (507 for a full disk); then the file is unchanged. Thread-safe.
  void add(std::string_view body);

 private:
  const std::filesystem::path path_;
  std::mutex mutex_{};  // used too, for file systems without locks
};

}  // namespace dikkat::serve
