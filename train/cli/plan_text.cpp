#include "train/cli/plan_text.h"

#include <fmt/format.h>

#include "train/cli/terminal/text.h"
#include "train/system/free_space.h"

namespace dikkat {
std::string memory_line(const MemoryPlan& plan, const MachineMemory& machine) {
  std::string line = fmt::format("{} at most: {} for weights, gradients and optimizer state, {} for activations and their gradients",
                                 short_bytes(plan.peak()), short_bytes(plan.parameters()),
                                 short_bytes(plan.activations + plan.head + plan.activation_gradients + plan.recomputation));
  line += plan.save_copy > 0 ? fmt::format(", {} for the copy that is saved during training", short_bytes(plan.save_copy)) : "";
  line += fmt::format(", {} for the rest",
                      short_bytes(plan.peak() - std::min(plan.peak(), plan.to_come() - plan.evaluation - plan.scratch - plan.batches)));
  return line + (machine.available == kNoLimit ? "" : fmt::format("; {} available", short_bytes(machine.available)));
}

std::string disk_line(const DiskPlan& plan, const std::filesystem::path& folder) {
  const auto free = free_space(folder);
  return fmt::format("{} per checkpoint, {} for {} at once{}", short_bytes(plan.checkpoint), short_bytes(plan.total()), plan.kept,
                     free ? fmt::format("; {} free", short_bytes(*free)) : "");
}

std::string shortage_of_memory(const MemoryPlan& plan, const MachineMemory& machine) {
  if (plan.to_come() <= machine.available) {
    return "";
  }
  return fmt::format(
      "training needs {} more memory, but only {} is available: end other programs, or try a smaller "
      "train.batch_size with more train.gradient_accumulation_steps, train.recompute=block or train.async_save=false",
      short_bytes(plan.to_come()), short_bytes(machine.available));
}

std::string shortage_of_disk(const DiskPlan& plan, const std::filesystem::path& folder) {
  const auto free = free_space(folder);
  return free && *free < static_cast<index>(plan.total())
             ? fmt::format("the run's checkpoints need {}, but only {} is free; a smaller train.keep_last needs less",
                           short_bytes(plan.total()), short_bytes(*free))
             : "";
}

}  // namespace dikkat
