#include "train/run/background_saver.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "autograd/base/error.h"
#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "train/system/handover.h"

namespace dikkat {
namespace {

/// Tensors of a copy begin at multiples of this.
constexpr std::size_t kAlignment = 64;

std::size_t bytes_in_copy(const TensorView& tensor) {
  const auto bytes = static_cast<std::size_t>(bytes_of(tensor.type, tensor.shape));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t bytes_in_copy(const Snapshot& snapshot) {
  std::size_t bytes = 0;
  for (const TensorView& tensor : snapshot.tensors) {
    bytes += bytes_in_copy(tensor);
  }
  return bytes;
}

/// Copies the snapshot's tensors to `memory`. Returns a snapshot of the copies.
Snapshot copied_to(std::byte* memory, const Snapshot& snapshot) {
  Snapshot copy = snapshot;
  for (TensorView& tensor : copy.tensors) {
    constexpr index kBlock = index{1} << 20;
    const auto* from = static_cast<const std::byte*>(tensor.data);
    parallel_blocks(bytes_of(tensor.type, tensor.shape), kBlock,
                    [&](index begin, index end) { std::memcpy(memory + begin, from + begin, static_cast<std::size_t>(end - begin)); });
    tensor.data = memory;
    memory += bytes_in_copy(tensor);
  }
  return copy;
}

}  // namespace

struct BackgroundSaver::State {
  explicit State(std::filesystem::path to) : directory(std::move(to)) {}

  std::filesystem::path directory;
  // Saving also hashes in tasks. An arena of one thread keeps all of them on one core. TBB must be allowed this additional thread.
  tbb::global_control one_more{tbb::global_control::max_allowed_parallelism,
                               static_cast<std::size_t>(tbb::info::default_concurrency()) + 1};
  tbb::task_arena arena{1, 0};
  tbb::task_group task;
  Handover begun, ended;
  Pages memory;
  Snapshot copy;
  bool started = false;
  std::atomic<bool> done = false;
  std::optional<SavedCheckpoint> saved;
  std::exception_ptr failure;

  void wait() {
    arena.execute([&] { task.wait(); });
    ended.acquire();
  }
};

BackgroundSaver::BackgroundSaver(std::filesystem::path directory) : state_(std::make_unique<State>(std::move(directory))) {}

BackgroundSaver::~BackgroundSaver() {
  if (state_->started) {
    state_->wait();
  }
}

bool BackgroundSaver::is_running() const { return state_->started; }

void BackgroundSaver::start(const Snapshot& snapshot) {
  State& s = *state_;
  require(!s.started, "save: another save is still running; collect it first");
  if (const std::size_t bytes = bytes_in_copy(snapshot); s.memory.size() < bytes) {
    s.memory = Pages();
    s.memory = Pages(bytes, "copy of weights and optimizer state to save from (not needed with train.async_save = false)");
  }
  s.copy = copied_to(reinterpret_cast<std::byte*>(s.memory.data()), snapshot);
  s.done = false;
  s.started = true;
  const auto save = [&s] {
    try {
      s.saved = save_checkpoint(s.directory, s.copy);
    } catch (...) {
      s.failure = std::current_exception();
    }
    s.done = true;
  };
  s.begun.release();
  s.arena.enqueue(s.task.defer(between(s.begun, s.ended, save)));  // task_group::run() might not start before somebody waits
}

std::optional<SavedCheckpoint> BackgroundSaver::collect(bool wait) {
  State& s = *state_;
  if (!s.started || (!wait && !s.done)) {
    return std::nullopt;
  }
  s.wait();
  s.started = false;
  if (s.failure) {
    std::rethrow_exception(std::exchange(s.failure, nullptr));
  }
  return std::exchange(s.saved, std::nullopt);
}

}  // namespace dikkat
