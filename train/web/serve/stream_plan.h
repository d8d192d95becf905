#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "autograd/base/dtype.h"
#include "autograd/base/index.h"
#include "layers/transformer_config.h"
#include "train/system/machine_memory.h"

namespace dikkat::serve {

/// The memory that streams of a model, and prompts that were read before, take.
struct StreamNeeds {
  std::size_t weights = 0;  // bytes that are in use already
  std::size_t stream = 0;   // one stream with a full context
  std::size_t shared = 0;   // all streams together, in addition
  std::size_t chunk = 0;    // PromptCache::kChunk positions of prompts
  index context = 0;        // positions of a full context
};
/// Returns the needs of streams. `cache` is the type of keys and values; absent: the model's own.
StreamNeeds stream_needs(const TransformerConfig& model, std::size_t weights, std::optional<DType> cache);

/// The user's wishes for a server. Absent ones follow from the memory.
struct StreamWishes {
  std::optional<index> streams{};        // samples that are generated together
  std::optional<std::size_t> prompts{};  // bytes for prompts that were read before; 0: none are kept
};

/// The memory of a server, in bytes.
struct StreamPlan {
  StreamNeeds needs{};
  index streams = 1;
  index prompt_positions = 0;  // positions for prompts that were read before, in whole chunks

  std::size_t all_streams() const;
  std::size_t prompts() const;
  std::size_t to_come() const { return all_streams() + prompts(); }
};

/// The most streams if their number is not set. More streams slow each other down, and gain little throughput.
inline constexpr index kMostStreamsByDefault = 8;

/// Plans a server on a machine with `free` bytes, which may be kNoLimit. By default, streams take at most half of them, and prompts as much
/// as the streams, but at most a quarter. Throws InputError, with the number of streams that fit, if the plan needs more than `free`.
StreamPlan plan_streams(const StreamNeeds& needs, const StreamWishes& wishes, std::size_t free);

/// Returns the bytes that a process can still take: free memory, without swap space, that may be mapped.
std::size_t free_memory(const MachineMemory& machine, const ProcessMemory& process);

/// Returns a line for people: "4 streams with 75.5 MB for keys and values (18.9 MB each), ...".
std::string plan_text(const StreamPlan& plan, std::size_t free);

}  // namespace dikkat::serve
