#include "train/web/serve/stream_plan.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/sample/prompt_cache.h"
#include "train/sample/scheduler.h"
#include "train/system/format_numbers.h"

namespace dikkat::serve {
namespace {

std::string shown(std::size_t bytes) { return short_bytes(static_cast<double>(bytes)); }

std::string streams_named(index streams) { return concat(streams, streams == 1 ? " stream" : " streams"); }

/// Returns the number of streams that fit into `bytes`, 0 or more.
index streams_in(const StreamNeeds& needs, std::size_t bytes) {
  constexpr std::size_t kMany = 1'000'000;
  return bytes < needs.shared + needs.stream ? 0 : static_cast<index>(std::min(kMany, (bytes - needs.shared) / needs.stream));
}

index whole_chunks(const StreamNeeds& needs, std::size_t bytes) {
  constexpr std::size_t kMany = std::size_t{1} << 32;
  return static_cast<index>(std::min(kMany, bytes / needs.chunk)) * PromptCache::kChunk;
}

}  // namespace

StreamNeeds stream_needs(const TransformerConfig& model, std::size_t weights, std::optional<DType> cache) {
  const std::size_t one = Scheduler::bytes(model, {.streams = 1, .cache = cache, .scores_prompts = true}),
                    two = Scheduler::bytes(model, {.streams = 2, .cache = cache, .scores_prompts = true});
  const std::size_t stream = two - one;
  return {.weights = weights,
          .stream = stream,
          .shared = one - std::min(one, stream),
          .chunk = PromptCache::bytes(model, {.positions = PromptCache::kChunk, .cache = cache, .scores_prompts = true}),
          .context = model.block_size};
}

std::size_t StreamPlan::all_streams() const { return needs.shared + static_cast<std::size_t>(streams) * needs.stream; }
std::size_t StreamPlan::prompts() const { return static_cast<std::size_t>(prompt_positions / PromptCache::kChunk) * needs.chunk; }

StreamPlan plan_streams(const StreamNeeds& needs, const StreamWishes& wishes, std::size_t free) {
  require(needs.stream > 0 && needs.chunk > 0, "plan: a stream of ", needs.stream, " bytes and a chunk of ", needs.chunk,
          ", expected more than 0");
  StreamPlan plan{.needs = needs};
  plan.streams = wishes.streams.value_or(std::clamp<index>(streams_in(needs, free / 2), 1, kMostStreamsByDefault));
  const std::size_t left = free - std::min(free, plan.all_streams());
  plan.prompt_positions = whole_chunks(needs, wishes.prompts.value_or(std::min({plan.all_streams(), free / 4, left})));
  if (plan.to_come() <= free) {
    return plan;
  }
  const index fit = streams_in(needs, free - std::min(free, plan.prompts()));
  const std::string what = concat(streams_named(plan.streams), " of ", shown(needs.stream), " each",
                                  plan.prompts() > 0 ? concat(" and ", shown(plan.prompts()), " for prompts (--prompt-cache)") : "",
                                  " would take ", shown(plan.to_come()), " of memory, and ", shown(free), " are free");
  require_input(fit == 0, what, ": at most ", streams_named(fit), " fit", fit == 1 ? "s" : "", " (--parallel ", fit, ")");
  fail_input(
      what,
      ", which is not enough for one stream: end other programs, or use keys and values in half the memory (--cache bf16), a smaller ",
      plan.prompts() > 0 ? "--prompt-cache, a smaller " : "", "model, or weights of 8 bits (--weights q8)");
}

std::size_t free_memory(const MachineMemory& machine, const ProcessMemory& process) {
  const std::size_t mappable =
      machine.address_space == kNoLimit ? kNoLimit : machine.address_space - std::min(machine.address_space, process.address_space);
  return std::min(machine.available, mappable);
}

std::string plan_text(const StreamPlan& plan, std::size_t free) {
  return concat(streams_named(plan.streams), ": ", shown(plan.needs.weights), " for weights, ", shown(plan.all_streams()),
                " for keys and values (", shown(plan.needs.stream), " for each stream of ", grouped_digits(plan.needs.context),
                " tokens), ", shown(plan.prompts()), " for prompts that were read before",
                free == kNoLimit ? "" : concat("; ", shown(free), " of memory are free"));
}

}  // namespace dikkat::serve
