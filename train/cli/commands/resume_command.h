#pragma once

#include <string>
#include <vector>

namespace dikkat {

class Trainer;

/// A run to continue, as `dikkat resume` does it.
struct ResumeArguments {
  std::string run_directory{};
  std::vector<std::string> set{};
  std::string base{};
  bool latest_good = false;
  bool profile = false;
  bool is_stage = false;  ///< as in TrainingOptions
};

/// Continues a run to its end, or until a signal; a finished run is left unchanged. Returns the exit code.
int resume_command(const ResumeArguments& arguments);

/// Returns whether all steps of the run are done, and then prints how to train on. `run` is its directory, `set` has the settings of this
/// command. All ranks call it.
bool report_if_finished(const Trainer& trainer, const std::vector<std::string>& set, const std::string& run);

}  // namespace dikkat
