#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "autograd/base/index.h"

// The plan of `dikkat assistant`: which model a text, a time and a machine can train, and the runs that train it.
namespace dikkat {

/// The shape of a model, and of its batches.
struct AssistantSize {
  index n_layer = 0, n_embd = 0, n_head = 0;
  index block_size = 0;  ///< tokens of a window
  index batch_size = 0;  ///< windows of a step

  /// Returns the parameters that products read: all matrices of the blocks, and the head.
  index parameters(index vocab_size) const;
  /// Returns the floating-point operations of training on a token: 6 for each parameter, and those of causal attention (Kaplan et al. 2020,
  /// arXiv 2001.08361).
  double flops_per_token(index vocab_size) const;

  bool operator==(const AssistantSize&) const = default;
};

/// Returns the number of word pieces for a text of this many bytes: a larger text can fill a larger vocabulary.
index vocabulary_for(index bytes);

/// Returns the largest size that reads enough tokens in `seconds` with `flops` useful operations per second: eight for each parameter. That
/// is less than Hoffmann et al. 2022 (arXiv 2203.15556) found best for text that is read once. The size has at most four parameters for
/// each byte of the text, since a larger one learns the text by heart. Returns the smallest size if none fits.
AssistantSize size_for(double seconds, double flops, index vocab_size, index bytes);

/// The measured cost of one stage.
struct StageCost {
  double step_seconds = 0;  ///< 0 if the plan leaves the stage out
  double epoch_steps = 0;   ///< steps that read the stage's text once
};

/// The number of steps of each stage; 0 if the plan leaves the stage out.
struct StageSteps {
  index pretrain = 0, chats = 0, preferences = 0;
};

/// Divides a time among the stages. Chats are read at most 20 times. They get at most a sixth of the time, or up to a third if reading them
/// once takes longer. Preferences are read at most three times, and get at most an eighth. Pretraining gets the rest; without it, chats do.
/// Throws InputError, naming --time, if a stage would have fewer than eight steps.
StageSteps share_time(double seconds, const StageCost& pretrain, const StageCost& chats, const StageCost& preferences);

/// A part of the work, which is an ordinary run.
struct AssistantStage {
  std::string name{};                   ///< "pretrain", "chats" or "preferences": the name of its folder too
  std::vector<std::string> corpus{};    ///< its text
  std::string from{};                   ///< the model that it starts from; empty: a new one
  std::vector<std::string> settings{};  ///< "section.key=value"
  index steps = 0;
  double seconds = 0;  ///< expected, by the plan
  double took = 0;     ///< seconds of all starts; of one that was killed, those of the steps that its last checkpoint has
  bool done = false;
  std::string tasks{};  ///< the answers of its model to the held-out questions, as JSON; empty: none are known
};

/// The file assistant.json of a folder. It is written before the first stage, and whenever a stage is done. What decides the model's bits
/// does not change after the first write, so an interrupted assistant ends with the same bits as one that was never
/// interrupted.
struct AssistantPlan {
  // The options that the plan was made for. Paths are absolute.
  std::vector<std::string> corpus{};
  std::string chats{}, pairs{}, from{}, name{};
  double seconds = 0;  ///< of --time

  std::string table{};         ///< what will happen, for people
  std::string tasks{};         ///< the name of the file of held-out questions; empty: there is none
  index longest_question = 0;  ///< bytes of a question and its answer
  index learned_pairs = 0;     ///< lines of `pairs` that there is time for
  std::string before{};        ///< with `from`: the answers of that model, as in AssistantStage
  std::vector<AssistantStage> stages{};
};

/// The plan's file in a folder.
std::filesystem::path assistant_file(const std::filesystem::path& folder);
/// Returns whether the folder is one of `dikkat assistant`.
bool is_assistant(const std::filesystem::path& folder);
void write_plan(const std::filesystem::path& folder, const AssistantPlan& plan);
/// Throws InputError if the file is not a plan, or is one of another version.
AssistantPlan read_plan(const std::filesystem::path& folder);
/// Returns the plan as one line of JSON, as the file has it.
std::string plan_as_json(const AssistantPlan& plan);

}  // namespace dikkat
