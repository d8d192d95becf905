#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "autograd/base/index.h"
#include "train/system/descriptor.h"

namespace dikkat {

/// The fields that an answer adds to its question, "answer" first. "fingerprint" identifies the model and the options.
inline constexpr const char* kAnswerFields[] = {"answer", "reasoning_content", "finish_reason", "log_probabilities", "fingerprint"};

/// The file of `sample --out`: a line for each answer, in the order of the questions. Another command continues where one has ended.
class AnswersFile {
 public:
  /// Opens the file, or creates it, and removes half an answer that a killed command has left. Throws InputError, and changes nothing, if
  /// another command writes to it, or it has anything but answers to these questions with this fingerprint.
  AnswersFile(const std::string& path, std::span<const nlohmann::ordered_json> questions, const std::string& fingerprint);

  /// Returns how many answers the file had.
  index kept() const { return kept_; }
  /// Adds an answer. Throws Error if it cannot be written; the file is then as before.
  void append(const nlohmann::ordered_json& answer);

 private:
  std::string path_;
  Descriptor descriptor_{-1};  // locked
  index kept_ = 0;
};

}  // namespace dikkat
