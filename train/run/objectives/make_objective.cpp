#include "train/run/objectives/make_objective.h"

#include "train/run/objectives/classify.h"
#include "train/run/objectives/distilled.h"
#include "train/run/objectives/embedding.h"
#include "train/run/objectives/language.h"
#include "train/run/objectives/preference.h"
#include "train/run/objectives/teacher_reader.h"
#include "train/system/out_of_memory.h"

namespace dikkat {
namespace {

/// Returns the token that ends an answer of a conversation, if there is one.
std::vector<Token> ends_of(const TrainingData& data) {
  const ChatTemplate* form = data.chat();
  const auto end = form == nullptr ? std::nullopt : form->end_token();
  return end ? std::vector<Token>{*end} : std::vector<Token>();
}

/// Opens the teacher of distill.file. A resumed run must have the file that it began with.
std::shared_ptr<TeacherReader> open_teacher(const ObjectiveParts& run) {
  const std::string& began_with = run.state.teacher_hash;
  const DistillConfig& distill = run.config.distill;
  const bool is_new = run.state.step == 0 && began_with.empty();
  require_input(is_new || distill.is_on() == !began_with.empty(), "distill.file is \"", distill.file, "\", but the run began ",
                distill.is_on() ? "without" : "with", " a teacher: it cannot change that");
  if (!distill.is_on()) {
    return nullptr;
  }
  auto teacher = naming_memory("opening the teacher file", [&] { return std::make_shared<TeacherReader>(run.config, run.data); });
  require_input(is_new || teacher->hash() == began_with, "distill.file: ", distill.file, " has the hash ", teacher->hash(),
                ", but the run began with a teacher file of hash ", began_with, "; restore that file, or begin a new run");
  run.state.teacher_hash = teacher->hash();
  return teacher;
}

}  // namespace

std::unique_ptr<Objective> make_objective(const ObjectiveParts& run) {
  auto teacher = open_teacher(run);
  if (run.config.preference.is_on()) {
    return std::make_unique<PreferenceObjective>(run.model, run.config, run.data, run.state);
  }
  if (run.config.classify.is_on()) {
    return std::make_unique<ClassifyObjective>(run.model, run.config, run.data);
  }
  if (run.config.embedding.is_on()) {
    return std::make_unique<EmbeddingObjective>(run.model, run.config, run.state);
  }
  if (teacher != nullptr) {
    return std::make_unique<DistilledObjective>(run.model, run.config.train.label_smoothing, ends_of(run.data), std::move(teacher));
  }
  return std::make_unique<LanguageObjective>(run.model, run.config.train.label_smoothing, ends_of(run.data));
}

}  // namespace dikkat
