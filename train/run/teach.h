#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "train/data/tokens/teacher_file.h"
#include "train/data/tokens/teacher_positions.h"
#include "train/model/language_model.h"

namespace dikkat {

/// Writes the record of a row of logits: the ids of the likeliest classes, ascending, and their log-probabilities at temperature 1. For
/// each temperature T, it has log sum p^(1/T) over the other classes. Among equal logits, lower ids are preferred. Logits that are not
/// finite result in NaN.
void summarize_logits(std::span<const float> logits, const std::vector<double>& temperatures, const TeacherRecord& record);

/// Options for scoring a text. `window` and `stride` apply to a stream of text (TeacherPositions::samples()), and are 0 otherwise.
struct TeachOptions {
  index top = 32;
  std::vector<double> temperatures = {1};  // ascending
  index window = 0, stride = 0;
  index batch_size = 4;          // rows at a time
  index targets_of_part = 8192;  // about as many are lost when the process is killed
};

/// Returns the header of a text's teacher file, without the fields that describe the teacher.
TeacherHeader teacher_header(const TeacherPositions& text, const Tokenizer& tokenizer, const TeachOptions& options);

/// Computes a model's records for the scored targets of samples. The bits do not depend on the number of threads.
class TeacherPass {
 public:
  /// Keeps references. `operands`: the type that matrix products read.
  TeacherPass(const LanguageModel& model, const TeacherHeader& header, DType operands);

  /// Appends the records of `count` samples, starting at `first`, in the order of their targets.
  void operator()(const Samples& samples, index first, index count, std::vector<std::byte>& records);

 private:
  const LanguageModel& model_;
  const TeacherHeader& header_;
  DType operands_;
  Tape features_{Recording::off}, logits_{Recording::off};
  Batch batch_;
  std::vector<std::byte> scored_features_;
  std::vector<std::int32_t> ids_;  // (rows, K)
  std::vector<float> log_probabilities_, tails_;
};

/// Writes the parts of a teacher file that are missing. Calls `progress` with two shares of all parts: those complete now, and those
/// complete before this call. Calls `stop` between batches. If it returns true, returns false; complete parts stay. Throws InputError if
/// the folder is not one of this header, or if another process writes to it.
bool teach(const LanguageModel& model, const TeacherHeader& header, DType operands, const Samples& samples,
           const std::filesystem::path& folder, const std::function<bool()>& stop,
           const std::function<void(double done, double before)>& progress);

}  // namespace dikkat
