#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "autograd/base/dtype.h"
#include "autograd/base/index.h"
#include "layers/transformer_config.h"
#include "train/system/machine_memory.h"

namespace dikkat {

/// The memory that streams of a model, and prompts that were read before, take.
struct StreamNeeds {
  std::size_t weights = 0;  // in use already
  std::size_t stream = 0;   // one stream with a full context
  std::size_t shared = 0;   // all streams together, beside that
  std::size_t chunk = 0;    // PromptCache::kChunk positions of prompts
  index context = 0;        // positions of a full context
};
/// `cache` is the type of keys and values; if it is absent, the model's own.
StreamNeeds stream_needs(const TransformerConfig& model, std::size_t weights, std::optional<DType> cache);

/// What a server is asked to have. What is absent follows from the memory.
struct StreamWishes {
  std::optional<index> streams{};        // samples that are generated together
  std::optional<std::size_t> prompts{};  // bytes for prompts that were read before; 0: none are kept
};

/// The memory of a server, in bytes.
struct StreamPlan {
  StreamNeeds needs{};
  index streams = 1;
  index prompt_positions = 0;  // of prompts that were read before, in whole chunks

  std::size_t all_streams() const;
  std::size_t prompts() const;
  std::size_t to_come() const { return all_streams() + prompts(); }
};

/// The most streams if their number is not given. More share the time of a token with more others, and gain little throughput.
inline constexpr index kMostStreamsByDefault = 8;

/// Plans a server on a machine with `free` bytes, which may be kNoLimit. By default, streams take at most half of them, and prompts as much
/// as the streams, but at most a quarter. Throws InputError, which says how many streams fit, if the plan needs more than `free`.
StreamPlan plan_streams(const StreamNeeds& needs, const StreamWishes& wishes, std::size_t free);

/// Returns what a process can still take: memory that is free, without swap space, and may be mapped.
std::size_t free_memory(const MachineMemory& machine, const ProcessMemory& process);

/// Returns a line for people: "4 streams with 75.5 MB for keys and values (18.9 MB each), ...".
std::string plan_text(const StreamPlan& plan, std::size_t free);

}  // namespace dikkat
