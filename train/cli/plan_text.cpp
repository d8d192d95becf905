#include "train/cli/plan_text.h"

#include <fmt/format.h>

#include "train/cli/text.h"
#include "train/system/free_space.h"

namespace dikkat {
namespace {

std::string shown(std::size_t bytes) { return short_bytes(static_cast<double>(bytes)); }

}  // namespace

std::string memory_line(const MemoryPlan& plan, const MachineMemory& machine) {
  std::string line =
      fmt::format("{} at most: {} for weights, gradients and optimizer state, {} for activations and their gradients", shown(plan.peak()),
                  shown(plan.parameters()), shown(plan.activations + plan.head + plan.activation_gradients + plan.recomputation));
  line += plan.save_copy > 0 ? fmt::format(", {} for the copy that is saved during training", shown(plan.save_copy)) : "";
  line += fmt::format(", {} for the rest",
                      shown(plan.peak() - std::min(plan.peak(), plan.to_come() - plan.evaluation - plan.scratch - plan.batches)));
  return line + (machine.available == kNoLimit ? "" : fmt::format("; {} available", shown(machine.available)));
}

std::string disk_line(const DiskPlan& plan, const std::filesystem::path& folder) {
  const auto free = free_space(folder);
  return fmt::format("{} per checkpoint, {} for {} at once{}", shown(plan.checkpoint), shown(plan.total()), plan.kept,
                     free ? fmt::format("; {} free", short_bytes(static_cast<double>(*free))) : "");
}

std::string shortage_of_memory(const MemoryPlan& plan, const MachineMemory& machine) {
  if (plan.to_come() <= machine.available) {
    return "";
  }
  return fmt::format(
      "training needs {} more memory, but only {} is available: end other programs, or try a smaller "
      "train.batch_size with more train.gradient_accumulation_steps, train.recompute=block or train.async_save=false",
      shown(plan.to_come()), shown(machine.available));
}

std::string shortage_of_disk(const DiskPlan& plan, const std::filesystem::path& folder) {
  const auto free = free_space(folder);
  return free && *free < static_cast<index>(plan.total())
             ? fmt::format("the run's checkpoints need {}, but only {} is free; a smaller train.keep_last needs less", shown(plan.total()),
                           short_bytes(static_cast<double>(*free)))
             : "";
}

}  // namespace dikkat
