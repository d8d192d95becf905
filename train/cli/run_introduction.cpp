#include "train/cli/run_introduction.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "autograd/base/cores.h"
#include "autograd/base/parallel.h"
#include "autograd/base/performance_cores.h"
#include "train/cli/plan_text.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/run/build_info.h"
#include "train/run/trainer.h"
#include "train/system/machine_memory.h"

namespace dikkat {
namespace {

index samples_at_end(const Trainer& trainer) {
  const TrainConfig& train = trainer.config().train;
  const TrainingState& state = trainer.state();
  return state.samples_seen + train.batch_size * trainer.accumulation().passes(state.step, train.max_steps);
}

/// Describes the length of the run: "2,000 steps of 768 tokens (1 x 12 x 64), 1.5 M tokens, 1.5 epochs". With an accumulation schedule it
/// has "768 to 1,536 tokens (1 to 2 x 12 x 64)"; for pairs "300 steps of 32 pairs (1 x 32), 9,600 pairs, 240.0 epochs".
std::string length_of(const Trainer& trainer) {
  const TrainConfig& train = trainer.config().train;
  const Accumulation& passes = trainer.accumulation();
  const bool is_gpt = trainer.model().is_gpt();
  const index size = is_gpt ? trainer.loader().longest().cols : 1;
  const char* unit = is_gpt ? "tokens" : "pairs";
  const index pass = train.batch_size * size, samples = samples_at_end(trainer);
  const auto from_to = [](const std::string& least, const std::string& most) { return least == most ? most : least + " to " + most; };
  return fmt::format("{} steps of {} {} ({} x {}{}), {} {}, {:.1f} epochs", grouped_digits(train.max_steps),
                     from_to(grouped_digits(passes.fewest() * pass), grouped_digits(passes.most() * pass)), unit,
                     from_to(fmt::to_string(passes.fewest()), fmt::to_string(passes.most())), train.batch_size,
                     is_gpt ? fmt::format(" x {}", size) : "", short_count(samples * size), unit,
                     static_cast<double>(samples) / static_cast<double>(trainer.loader().epoch_size()));
}

/// Returns a remark on a run that reads its text many times; empty for other runs. The bound is from Muennighoff et al. 2023, "Scaling
/// Data-Constrained Language Models" (arXiv 2305.16264): up to 4 epochs are nearly as good as new text, and after about 16 epochs further
/// ones gain little.
std::string remark_on_epochs(const Trainer& trainer) {
  constexpr double kMany = 16;
  std::string texts;
  for (std::size_t i = 0; trainer.model().is_gpt() && i < trainer.data().sources.size(); ++i) {
    if (const double epochs = trainer.loader().epochs(static_cast<index>(i), samples_at_end(trainer)); epochs > kMany) {
      const std::string& name = trainer.data().sources[i].name;
      texts += fmt::format("{}{} will be read {:.0f} times", texts.empty() ? "" : ", and ", name.empty() ? "the text" : for_terminal(name),
                           epochs);
    }
  }
  return texts.empty() ? ""
                       : texts +
                             ": after about 16 times a model learns little more and starts to memorize; watch the validation loss, and "
                             "train for fewer epochs (--epochs) or on more text";
}

/// Returns "stories: a.txt, 0.75 of all windows; 12,345 tokens for training, 1,234 for validation; 2.1 epochs".
std::string source_line(const Trainer& trainer, std::size_t i) {
  const DataSource& named = trainer.config().data.sources[i];
  const SourceData& source = trainer.data().sources[i];
  return fmt::format("{}: {}{}, {:.3g} of all windows; {} tokens for training, {} for validation; {:.3g} epochs", for_terminal(named.name),
                     names_of(named.corpus), named.validation.empty() ? "" : ", validated on " + names_of(named.validation), source.share,
                     grouped_digits(source.train->size().tokens), grouped_digits(source.validation->size().tokens),
                     trainer.loader().epochs(static_cast<index>(i), samples_at_end(trainer)));
}

/// Returns "LoRA rank 8: 12,345 trainable parameters, runs/base is frozen".
std::string adapters_line(const Trainer& trainer) {
  const Config& c = trainer.config();
  index trained = 0;
  for (const ParameterStore::Entry* entry : trainer.model().parameters().trainable()) {
    trained += entry->size();
  }
  const std::string modules = for_terminal(fmt::format("{}", fmt::join(c.lora.modules_to_save, ", ")));
  return fmt::format("LoRA rank {}: {} trainable parameters{}, {} is frozen{}", c.lora.rank, short_count(trained),
                     c.lora.modules_to_save.empty() ? "" : " with lora.modules_to_save = " + modules, c.train.init_from,
                     c.lora.base == PackedType::f32 ? "" : fmt::format(", packed as {}", name_of(c.lora.base)));
}

/// Returns "1, 2, 4 or 8".
std::string numbers_of_ranks(index lanes) {
  std::string list = "1";
  for (index ranks = 2; ranks <= lanes; ranks *= 2) {
    list += (ranks == lanes ? " or " : ", ") + fmt::to_string(ranks);
  }
  return list;
}

/// Returns "node1", or "node1, node2 and 6 others".
std::string hosts_of(const Ranks& ranks) {
  std::vector<std::string> hosts = ranks.hosts();
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts.size() <= 2 ? fmt::to_string(fmt::join(hosts, " and "))
                           : fmt::format("{}, {} and {} others", hosts[0], hosts[1], hosts.size() - 2);
}

void introduce_machine(const Trainer& trainer) {
  const ReferenceRate& reference = trainer.reference_rate();
  const std::string rate =
      reference.is_known()
          ? fmt::format("{:.0f} GFLOP/s (MFU is relative to this)", reference.highest() * 1e-9)
          : fmt::format("{:.0f} to {:.0f} GFLOP/s, which is too uncertain for MFU; MFU is shown once two measurements agree",
                        reference.lowest() * 1e-9, reference.highest() * 1e-9);
  print_labeled("dikkat", fmt::format("{}, {}, {}{}; {} matrix products measured at {}", build_info().version, build_info().instruction_set,
                                      counted(thread_count(), "thread"), is_on_performance_cores() ? " on performance cores" : "",
                                      name_of(trainer.config().train.precision), rate));
  if (const int cores = usable_cores(); thread_count() > cores) {
    warn_labeled("warning", fmt::format("{} threads share the {} that this process may use, which is slower than {} threads; see --threads "
                                        "and OMP_NUM_THREADS",
                                        thread_count(), counted(cores, "core"), cores));
  }
}

void introduce_model(const Trainer& trainer) {
  const Config& c = trainer.config();
  print_labeled("model", fmt::format("{} with {} layers, {} heads, width {}, block {}, vocabulary {}: {} parameters", name_of(c.model.kind),
                                     c.model.n_layer, c.model.n_head, c.model.n_embd, c.model.block_size,
                                     grouped_digits(c.model.vocab_size), short_count(trainer.model().parameters().parameter_count())));
  if (trainer.model().is_gpt() && *c.data.window < c.model.block_size) {
    print_labeled("window", fmt::format("{} tokens (data.window); the model keeps its context of {} (model.block_size)",
                                        grouped_digits(c.data.window), grouped_digits(c.model.block_size)));
  }
  if (c.lora.rank > 0) {
    print_labeled("adapters", adapters_line(trainer));
  }
}

void introduce_data(const Trainer& trainer) {
  const DataConfig& named = trainer.config().data;
  const TrainingData& data = trainer.data();
  if (named.sources.empty()) {
    print_labeled("corpus", names_of(named.corpus) + (named.validation.empty() ? "" : ", validated on " + names_of(named.validation)));
  }
  for (std::size_t i = 0; i < named.sources.size(); ++i) {
    print_labeled("source", source_line(trainer, i));
  }
  for (const EvaluationSource& text : named.evaluations) {
    print_labeled("evaluates", fmt::format("{}: {}", for_terminal(text.name), names_of(text.corpus)));
  }
  print_labeled("data", fmt::format("{} bytes in {} file{}{}; {} tokens for training, {} for validation ({} tokenizer)",
                                    grouped_digits(data.bytes), grouped_digits(data.files), data.files == 1 ? "" : "s",
                                    data.documents == data.files ? "" : fmt::format(", {} documents", grouped_digits(data.documents)),
                                    grouped_digits(data.train_tokens()), grouped_digits(data.validation_tokens()), data.tokenizer->kind()));
  for (const std::string& note : data.notes) {
    print_labeled("note", note);
  }
}

void introduce_memory_and_disk(const Trainer& trainer) {
  const std::filesystem::path& folder = trainer.directory();
  print_labeled("memory", memory_line(trainer.memory_plan(), machine_memory()));
  print_labeled("disk", disk_line(trainer.disk_plan(), folder));
  if (const std::string shortage = shortage_of_memory(trainer.memory_plan(), machine_memory()); !shortage.empty()) {
    warn_labeled("warning", shortage);
  }
  // Only a new run is checked: a resumed one has written some of its checkpoints already.
  if (const std::string shortage = shortage_of_disk(trainer.disk_plan(), folder); !shortage.empty() && trainer.state().step == 0) {
    warn_labeled("warning", shortage);
  }
}

void introduce_ranks(const Trainer& trainer) {
  const Ranks& ranks = trainer.ranks();
  const index lanes = trainer.config().train.lanes;
  print_labeled("ranks",
                fmt::format("{} on {}, {} each; {} lanes give the same bits on {} ranks (train.lanes); {}", ranks.size(), hosts_of(ranks),
                            counted(thread_count(), "thread"), lanes, numbers_of_ranks(lanes), ranks.transport_name()));
  if (const long all = ::sysconf(_SC_NPROCESSORS_ONLN); usable_cores() * ranks.on_this_host() < all && !is_on_performance_cores()) {
    warn_labeled("warning", fmt::format("the launcher binds each rank to {} of this machine's {} cores; mpirun --bind-to none or srun "
                                        "--cpus-per-task gives it more",
                                        usable_cores(), all));
  }
}

}  // namespace

void print_introduction(const Trainer& trainer) {
  const TrainConfig& train = trainer.config().train;
  const TrainingState& state = trainer.state();
  introduce_machine(trainer);
  introduce_model(trainer);
  introduce_data(trainer);
  print_labeled("training", length_of(trainer));
  if (const std::string remark = remark_on_epochs(trainer); !remark.empty()) {
    print_labeled("note", remark);
  }
  introduce_memory_and_disk(trainer);
  if (!train.init_from.empty() && state.step == 0) {
    print_labeled("weights", "from " + train.init_from);
  }
  print_labeled("run", trainer.directory().string());
  if (trainer.ranks().size() > 1) {
    introduce_ranks(trainer);
  }
  if (state.step > 0) {
    print_labeled("resumed", fmt::format("from step {} of {}", state.step, train.max_steps));
  }
}

}  // namespace dikkat
