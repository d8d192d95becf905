#pragma once

#include <vector>

#include "train/sample/scheduler.h"
#include "train/web/serve/choice_text.h"
#include "train/web/serve/job.h"

namespace dikkat::serve {

/// The state of one answer while it is generated: turns the events of its samples, one for each choice, into pieces for its job.
class Answer {
 public:
  /// Adds the beginning of each choice to the job. `job` must outlive the answer.
  explicit Answer(Job& job);

  index choices() const { return std::ssize(texts_); }
  /// Returns the request for the sample of a choice.
  SampleRequest sample(index choice) const;
  /// Takes an event of the sample of a choice. Returns whether the sample should continue: false after a stop string, or after its end.
  bool take(index choice, const Scheduler::Event& event);
  /// Returns whether all choices have ended.
  bool is_over() const { return ended_ == choices(); }

 private:
  void give(AnswerDelta piece) const;

  Job& job_;
  const Vocabulary vocabulary_;
  std::vector<ChoiceText> texts_;
  index ended_ = 0;
};

}  // namespace dikkat::serve
