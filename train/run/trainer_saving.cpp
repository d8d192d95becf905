#include "train/run/trainer.h"
#include "train/system/out_of_memory.h"

namespace dikkat {

/// For errors that end the run: the checkpoint to resume from.
std::string Trainer::last_good() const {
  const auto newest = directory_->newest();
  return newest ? concat("The last good checkpoint is ", newest->path.string()) : "There is no checkpoint";
}

/// Runs `write`. If that fails, ends the run, or reports it and continues, as train.on_failed_save says.
void Trainer::attempt(TrainingEvents& events, IfFailed if_failed, const std::function<void()>& write) {
  try {
    naming_memory("saving", write);
  } catch (const Error& error) {
    if (if_failed == IfFailed::end || config_.train.on_failed_save == OnFailedSave::stop) {
      throw;
    }
    events.write_failed(error.what());
  }
}

void Trainer::save(TrainingEvents& events, IfFailed if_failed) {
  collect(events, true);  // one after another
  parallel_step_->gather_state();
  if (!directory_) {
    saved_step_ = state_.step;
    return;
  }
  if_save_failed_ = if_failed;
  attempt(events, if_failed, [&] {
    directory_->require_held();
    if (saver_) {
      saver_->start(snapshot());
    } else {
      record_save(save_checkpoint(directory_->checkpoints_path(), snapshot()), events);
    }
  });
  parallel_step_->release_foreign_state();
}

void Trainer::collect(TrainingEvents& events, bool wait) {
  attempt(events, if_save_failed_, [&] {
    if (const auto saved = saver_ ? saver_->collect(wait) : std::nullopt) {
      record_save(*saved, events);
    }
  });
}

void Trainer::record_save(const SavedCheckpoint& saved, TrainingEvents& events) {
  saved_step_ = saved.step();
  directory_->retain(saved, config_.train.keep_last, state_.best_step);
  events.saved(saved);
  attempt(events, IfFailed::as_configured,
          [&] { metrics_->write("save", saved.step(), {{"file", saved.path().filename().string()}, {"bytes", saved.bytes()}}); });
}

}  // namespace dikkat
