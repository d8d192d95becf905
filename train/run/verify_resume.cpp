#include "train/run/verify_resume.h"

#include <algorithm>
#include <cstring>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/data/corpus/corpus_files.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

/// Removes a folder at the end of the scope.
class FolderRemover {
 public:
  explicit FolderRemover(std::filesystem::path path) : path_(std::move(path)) {}
  FolderRemover(const FolderRemover&) = delete;
  FolderRemover& operator=(const FolderRemover&) = delete;
  ~FolderRemover() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

/// Calls a function after each step.
struct StepCalls : TrainingEvents {
  explicit StepCalls(std::function<void()> f) : call(std::move(f)) {}
  void stepped(const StepReport&) override { call(); }
  std::function<void()> call;
};

/// Returns the first part in which two checkpoints with different hashes differ.
std::string difference_between(const CheckpointFile& a, const CheckpointFile& b) {
  if (!same_bits(a.state(), b.state())) {
    return "the state (step, losses, position in the text)";
  }
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  for (const StoredTensor& tensor : a.tensors()) {
    const auto size = static_cast<std::size_t>(tensor.bytes);
    first.resize(size);
    second.resize(size);
    a.read(tensor.path, tensor.type, tensor.shape, first.data());
    b.read(tensor.path, tensor.type, tensor.shape, second.data());
    if (std::memcmp(first.data(), second.data(), size) != 0) {
      return concat("tensor /", tensor.path);
    }
  }
  return "the configuration or the tokenizer";
}

}  // namespace

std::optional<ResumeProof> verify_resume(Config config, index steps, const std::filesystem::path& folder, const LoadingProgress& loading,
                                         const std::function<bool()>& stop, const std::function<void(double)>& progress) {
  // Configure a short run that also evaluates.
  require_input(steps >= 2, "verifying a resume needs 2 steps or more, found ", steps);
  const std::vector<std::string> corpus = config.data.training_paths();
  require_input(std::find(corpus.begin(), corpus.end(), kStandardInput) == corpus.end(),
                "verifying a resume reads the corpus several times, which is not possible with standard input: give a file");
  ResumeProof proof{.steps = steps, .stop = steps / 2, .other_threads = thread_count() > 1 ? 1 : 2};
  config.optim.decay_steps = *config.optim.decay_steps;  // the schedule stays that of the whole run
  config.train.max_steps = steps;
  config.train.eval_interval = std::max<index>(proof.stop, 1);
  config.train.eval_tokens = config.train.batch_size * config.data.window;
  config.train.checkpoint_interval = steps;
  config.train.keep_last = 1;

  // Train it in one go, and with a stop.
  require_input(!is_there(folder), folder.string(), " already exists, expected a new name");
  const FolderRemover remover(folder);
  index done = 0;
  StepCalls events([&] { progress(static_cast<double>(++done) / static_cast<double>(2 * steps)); });
  const auto whole = folder / "in-one-go";
  const auto parts = folder / "in-two";
  bool stopped = Trainer::start(config, whole, loading).run(events, stop) == Trainer::Outcome::stopped;
  // Stop the second run in the middle, and resume it with another number of threads.
  if (!stopped) {
    Trainer trainer = Trainer::start(config, parts, loading);
    trainer.run(events, [&] { return (stopped = stop()) || trainer.state().step >= proof.stop; });
  }
  if (!stopped) {
    const WithThreads others(proof.other_threads);
    stopped = Trainer::resume(parts, {}, loading).run(events, stop) == Trainer::Outcome::stopped;
  }
  if (stopped) {
    return std::nullopt;
  }

  // Compare the checkpoints.
  const CheckpointFile a = open_checkpoint(whole);
  const CheckpointFile b = open_checkpoint(parts);
  if (a.hash() == b.hash()) {
    proof.hash = a.hash();
  } else {
    proof.difference = difference_between(a, b);
  }
  return proof;
}

}  // namespace dikkat
