#pragma once

#include <string>
#include <vector>

#include "autograd/ops/loss.h"
#include "train/config/config.h"
#include "train/data/tokens/teacher_file.h"
#include "train/data/training_data.h"

namespace dikkat {

/// The distributions of a teacher (dikkat teach) for the targets of batches.
class TeacherReader {
 public:
  /// Opens distill.file. Throws InputError if it is damaged, lacks distill.temperature, or belongs to other tokens or to a tokenizer with
  /// other token texts. Throws it also if the corpus cannot be taught (TrainingData::trained_targets()).
  TeacherReader(const Config& config, const TrainingData& data);

  /// Returns the hash of the file.
  const std::string& hash() const { return file_.hash(); }
  /// Returns the teacher's distributions for a batch, as tensors on `tape`. They are valid until the tape is reset.
  Teacher on(Tape& tape, const Batch& batch);

 private:
  DistillConfig config_;
  TeacherFile file_;
  std::size_t temperature_ = 0;  // the place of distill.temperature in the file's list
  std::vector<std::int32_t> ids_;
  std::vector<float> probabilities_;
  std::vector<float> log_probabilities_, tails_;  // values of one target
};

}  // namespace dikkat
