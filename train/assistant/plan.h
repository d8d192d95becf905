#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"
#include "train/assistant/stage.h"

// The plan of `dikkat assistant`: the runs that train an assistant in a given time, one for each stage.
namespace dikkat::assistant {

// Files in the folder of an assistant, which are made from its chats and pairs.
inline constexpr const char* kLearnedChats = "chats.jsonl";
inline constexpr const char* kHeldOutChats = "held-out.jsonl";
inline constexpr const char* kTasks = "tasks.jsonl";
inline constexpr const char* kLearnedPairs = "pairs.jsonl";

/// The options that a plan is made for. Paths are absolute; an option that is not given is empty.
struct Wishes {
  std::vector<std::string> corpus{};
  std::string chats{}, pairs{}, from{}, name{};
  double seconds = 0;  ///< of --time

  /// Returns whether the assistant learns chats. Only a trained model with pairs may do without.
  bool has_chats() const { return from.empty() || !chats.empty() || pairs.empty(); }
};

/// A stage of the plan. It is an ordinary run.
struct Stage {
  StageKind kind{};
  std::vector<std::string> corpus{};  ///< its text; files in the assistant's folder have relative names
  std::optional<StageKind> after{};   ///< the stage whose model it starts from; none: the model of --from, or a new one
  std::vector<ConfigEdit> edits{};
  index steps = 0;
  double seconds = 0;  ///< expected, by the plan
  double took = 0;     ///< seconds of all starts; of one that was killed, those of the steps that its last checkpoint has
  bool done = false;
  std::string tasks{};  ///< the answers of its model to the held-out questions, as JSON; empty: none are known
};

/// The file assistant.json of a folder. It is written before the first stage, and whenever a stage is done. What decides the model's bits
/// does not change after the first write, so an interrupted assistant ends with the same bits as one that was never
/// interrupted.
struct Plan {
  Wishes wishes{};
  std::string table{};         ///< what will happen, for people
  std::string tasks{};         ///< the name of the file of held-out questions; empty: there is none
  index longest_question = 0;  ///< bytes of a question and its answer
  index learned_pairs = 0;     ///< lines of the pairs that there is time for
  std::string before{};        ///< with --from: the answers of that model, as in Stage
  std::vector<Stage> stages{};

  /// Returns the stage; null if the plan has none of this kind.
  const Stage* find(StageKind kind) const;
  /// Returns what the file has as the stage's origin: the name of a stage, or the path of a model; empty for a new model.
  std::string origin_of(const Stage& stage) const;
};

/// The plan's file in a folder.
std::filesystem::path plan_file(const std::filesystem::path& folder);
/// Returns whether the folder is one of `dikkat assistant`.
bool is_assistant(const std::filesystem::path& folder);
void write_plan(const std::filesystem::path& folder, const Plan& plan);
/// Throws InputError if the file is not a plan, or is one of another version.
Plan read_plan(const std::filesystem::path& folder);
/// Returns the plan as one line of JSON, as the file has it.
std::string plan_as_json(const Plan& plan);

}  // namespace dikkat::assistant
