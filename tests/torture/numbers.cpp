// NaN and infinity at every site of a step: in weights, results of ops, the loss, gradients and optimizer state. They must never be applied
// or saved. The run must stop with a message that names step and tensor, or skip the step if configured so. Prints a line of JSON.
#include <cmath>
#include <functional>
#include <map>

#include "tests/torture/program.h"
#include "tests/torture/tally.h"
#include "tests/train/run/tiny_run.h"
#include "train/machine/profile.h"

namespace dikkat::torture {
namespace {

constexpr index kBadStep = 6;  // two steps after the checkpoint of step 4
constexpr float kValues[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity()};

const char* name_of(float value) { return std::isnan(value) ? "NaN" : value > 0 ? "Inf" : "-Inf"; }

/// Counts the ops of a step, and injects the value in step kBadStep.
class Site : public Profile {
 public:
  explicit Site(std::function<void(const OpRun&, index call)> forward, std::function<void(index call)> backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  void forward_ends(const OpRun& run) override { forward_(run, ++forwards_); }
  void backward_ends(const OpRun&) override { backward_(++backwards_); }

 private:
  std::function<void(const OpRun&, index)> forward_;
  std::function<void(index)> backward_;
  index forwards_ = 0, backwards_ = 0;
};

struct Listener : TrainingEvents {
  void skipped(const std::string& what) override { skips.push_back(what); }
  std::vector<std::string> skips;
};

class Experiment {
 public:
  explicit Experiment(bool pairs) : pairs_(pairs) {
    write_file(folder_ / "corpus.txt", pairs ? tiny_pairs() : tiny_text());
    Trainer trainer = Trainer::start(config("stop"), folder_ / "count");
    Site site([&](const OpRun& run, index call) { ops_[call] = run.op; }, [&](index call) { backwards_ = call; });
    trainer.set_profile(&site);
    TrainingEvents quiet;
    trainer.run(quiet, after(0));  // one step
    for (const ParameterStore::Entry* entry : trainer.model().parameters().entries()) {
      tensors_.push_back(entry->path);
    }
  }

  const std::vector<std::string>& tensors() const { return tensors_; }
  /// The ops of a step, by number of the call.
  const std::map<index, std::string>& ops() const { return ops_; }

  void weight(Tally& tally, const std::string& tensor, float value) {
    judge(tally, concat(name_of(value), " in weight ", tensor), "stop", {"step 6", tensor}, [&](Trainer& trainer, TrainingEvents& events) {
      trainer.run(events, after(kBadStep - 2));
      auto& store = const_cast<ParameterStore&>(trainer.model().parameters());
      static_cast<float*>(store.entry(tensor).record.data)[0] = value;
      trainer.run(events, never);
    });
  }

  void activation(Tally& tally, index call, float value) {
    judge(
        tally, concat(name_of(value), " from ", ops_[call], ", call ", call, " of a step"), "stop", {"step 6"},
        [&](Trainer& trainer, TrainingEvents& events) {
          Site site(
              [&](const OpRun& run, index now) {
                if (now == (kBadStep - 1) * std::ssize(ops_) + call) {
                  const_cast<float*>(run.outputs.front().data<float>())[0] = value;
                }
              },
              [](index) {});
          trainer.set_profile(&site);
          trainer.run(events, never);
        },
        std::isinf(value));  // the result may be finite, as exp(-inf) is
  }

  void gradient(Tally& tally, const std::string& tensor, float value, const char* on_nonfinite) {
    judge(tally, concat(name_of(value), " in gradient of ", tensor, ", ", on_nonfinite), on_nonfinite, {"step 6", "gradient of " + tensor},
          [&](Trainer& trainer, TrainingEvents& events) {
            auto& store = const_cast<ParameterStore&>(trainer.model().parameters());
            Site site([](const OpRun&, index) {},
                      [&](index now) {
                        if (now == kBadStep * backwards_) {
                          store.gradients<float>()[store.entry(tensor).offset] = value;
                        }
                      });
            trainer.set_profile(&site);
            trainer.run(events, never);
          });
  }

  /// The value is in a checkpoint that the run continues from.
  void stored(Tally& tally, const std::string& group, const std::string& tensor, float value) {
    const std::string name = concat(name_of(value), " in /", group, '/', tensor, " of a checkpoint");
    const std::filesystem::path run = next_run();
    Listener events;
    std::filesystem::path path;
    {
      Trainer trainer = Trainer::start(config("stop"), run);
      trainer.run(events, after(3));
      path = checkpoint_directory(run) / checkpoint_name(4);
    }
    poison(path, concat(group, '/', tensor), value);
    std::string text;
    try {
      Trainer trainer = Trainer::resume(run, {});
      trainer.run(events, never);
    } catch (const Error& error) {
      text = error.what();
    }
    ++tally.cases;
    if (text.empty()) {
      tally.fail(name + ": the run went on");
    } else if (text.find(tensor) == std::string::npos) {
      tally.fail(name + ": the tensor is not named: " + text);
    } else if (const std::string bad = first_bad_checkpoint(run, path); !bad.empty()) {
      tally.fail(name + ": " + bad);
    } else {
      ++tally.refused;
    }
  }

 private:
  Config config(const std::string& on_nonfinite) const {
    Config c = pairs_ ? tiny_pairs_config(folder_ / "corpus.txt") : tiny_config(folder_ / "corpus.txt");
    c.model.n_layer = 1;
    c.train.max_steps = 9;
    c.train.on_nonfinite = value_named<OnNonfinite>(on_nonfinite).value();
    return c;
  }
  std::filesystem::path next_run() { return folder_ / concat("run-", ++runs_); }

  void judge(Tally& tally, const std::string& name, const std::string& on_nonfinite, const std::vector<std::string>& words,
             const std::function<void(Trainer&, TrainingEvents&)>& act, bool may_mean_nothing = false) {
    ++tally.cases;
    const std::filesystem::path run = next_run();
    Listener events;
    std::string text;
    index step = 0, skipped = 0;
    {
      Trainer trainer = Trainer::start(config(on_nonfinite), run);
      try {
        act(trainer, events);
      } catch (const InputError& error) {
        return tally.fail(name + ": called bad input: " + error.what());
      } catch (const Error& error) {
        text = error.what();
      }
      step = trainer.state().step;
      skipped = trainer.state().steps_skipped;
    }
    if (const std::string bad = first_bad_checkpoint(run, {}); !bad.empty()) {
      return tally.fail(name + ": " + bad);
    }
    if (text.empty()) {
      const bool is_over = step == 9;
      const bool counted = on_nonfinite == "stop" ? may_mean_nothing || ended_undisturbed(run) : skipped == 1 && events.skips.size() == 1;
      return is_over && counted ? void(++tally.survived) : tally.fail(concat(name, ": step ", step, ", ", skipped, " steps skipped"));
    }
    for (const std::string& word : words) {
      if (text.find(word) == std::string::npos) {
        return tally.fail(name + ": lacks " + word + ": " + text);
      }
    }
    if (on_nonfinite == "skip" || step != kBadStep - 1 || open_checkpoint(run).state().step < 4) {
      return tally.fail(concat(name, ": stopped at step ", step, ": ", text));
    }
    ++tally.refused;
  }

  /// Whether the run ended undisturbed, as when dropout has dropped the value that was not finite.
  bool ended_undisturbed(const std::filesystem::path& run) {
    const auto end_of = [](const std::filesystem::path& of) { return contents(checkpoint_directory(of) / checkpoint_name(9)); };
    const std::filesystem::path reference = folder_ / "undisturbed";
    if (!std::filesystem::exists(reference)) {
      Listener events;
      Trainer::start(config("stop"), reference).run(events, never);
    }
    return end_of(run) == end_of(reference);
  }

  /// Checks the run's checkpoints, which must all be good and finite, except for `known`.
  static std::string first_bad_checkpoint(const std::filesystem::path& run, const std::filesystem::path& known) {
    for (const CheckpointEntry& entry : list_checkpoints(run)) {
      if (entry.path == known) {
        continue;
      }
      const CheckpointFile file = CheckpointFile::open(entry.path);
      for (const StoredTensor& tensor : file.tensors()) {
        std::vector<float> numbers(static_cast<std::size_t>(tensor.shape.size()));
        file.read(tensor.path, ElementType::f32, tensor.shape, numbers.data());
        for (const float number : numbers) {
          if (!std::isfinite(number)) {
            return concat(entry.path.filename().string(), " was saved with /", tensor.path, " not finite");
          }
        }
      }
    }
    return list_checkpoints(run).empty() ? "no checkpoint is left" : "";
  }

  static void poison(const std::filesystem::path& path, const std::string& poisoned, float value) {
    std::vector<std::vector<float>> numbers;
    Snapshot snapshot;
    {
      const CheckpointFile file = CheckpointFile::open(path);
      snapshot.state = file.state();
      snapshot.config = file.config();
      snapshot.tokenizer = file.tokenizer();
      for (const StoredTensor& tensor : file.tensors()) {
        std::vector<float>& data = numbers.emplace_back(static_cast<std::size_t>(tensor.shape.size()));
        file.read(tensor.path, ElementType::f32, tensor.shape, data.data());
        if (tensor.path == poisoned) {
          data[0] = value;
        }
        snapshot.tensors.push_back({tensor.path, ElementType::f32, tensor.shape, data.data()});
      }
    }
    std::filesystem::remove(path);
    save_checkpoint(path.parent_path(), snapshot);
  }

  bool pairs_;
  TemporaryFolder folder_;
  std::vector<std::string> tensors_;
  std::map<index, std::string> ops_;
  index backwards_ = 0;
  int runs_ = 0;
};

int run(bool everything) {
  Tally tally;
  for (const bool pairs : {false, true}) {
    if (pairs && !everything) {
      continue;
    }
    Experiment experiment(pairs);
    std::size_t turn = 0;
    const auto values = [&] {  // one after another, or all together
      return everything ? std::vector<float>(std::begin(kValues), std::end(kValues)) : std::vector<float>{kValues[turn++ % 3]};
    };
    // Inject values into weights, gradients, and tensors in the checkpoint.
    for (const std::string& tensor : experiment.tensors()) {
      for (const float value : values()) {
        experiment.weight(tally, tensor, value);
        experiment.gradient(tally, tensor, value, turn % 2 == 0 || everything ? "stop" : "skip");
        if (everything) {
          experiment.gradient(tally, tensor, value, "skip");
        }
      }
      std::size_t place = 0;
      for (const char* group : {"model", "optimizer/m", "optimizer/v"}) {
        if (everything || turn % 4 == place++) {
          experiment.stored(tally, group, tensor, kValues[turn % 3]);
        }
      }
    }
    // Inject values into results of ops.
    std::map<std::string, index> done;
    for (const auto& [call, op] : experiment.ops()) {
      if (everything || done[op]++ == 0) {
        for (const float value : kValues) {
          experiment.activation(tally, call, value);
        }
      }
    }
  }
  tally.print();
  return 0;
}

}  // namespace
}  // namespace dikkat::torture

int main(int argc, char** argv) {
  using namespace dikkat::torture;
  return run_program("numbers [all]", [&] { return run(argc > 1 && std::string(argv[1]) == "all"); });
}
