#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "train/sample/sample_request.h"

namespace dikkat {

class PromptCache;

/// Generates many samples at once. Requests join and leave between tokens:
///
///   Scheduler scheduler(model, {.streams = 8});
///   scheduler.add({.model = &model, .vocabulary = vocabulary, .prompt = prompt, .options = options});
///   while (!scheduler.is_idle()) {
///     for (const Scheduler::Event& event : scheduler.step()) {
///       ...
///     }
///   }
///
/// A stream has memory for one running sample; other requests wait for a stream, in their order. A step is one pass of the model: it reads
/// a chunk of PromptCache::kChunk tokens of one prompt, or shorter chunks of several, or the last token of every running sample. Chunks and
/// tokens alternate while both wait, and prompts take turns. So a running sample waits for at most kChunk tokens of prompts between two of
/// its own.
///
/// Samples with the same prompt read it once if they come together, or while a stream still has it. A sample with the scores of its prompt
/// only shares what Options::prompts has.
///
/// A sample's bits do not depend on other samples, on the cache or on the number of threads. Chunks begin at multiples of
/// PromptCache::kChunk from the start of its context. Chunks of up to 16 tokens have a pass of their own, and a pass of single tokens has
/// at most 16 rows (ModelPasses). Nor do they depend on whether the prompt is scored.
///
/// A full context drops its oldest quarter. With relative positions (Gpt::has_relative_positions()), the rest keeps its keys and values.
/// Those of deep layers have seen the dropped tokens, so some of their information remains. With other positions, and with
/// SampleOptions::rereads, positions count from the first remaining token, and the rest is read again, in chunks.
class Scheduler {
 public:
  struct Options {
    index streams = 8;               // samples that run together
    std::optional<DType> cache{};    // type of keys and values: bf16 halves their memory; absent: the model's
    PromptCache* prompts = nullptr;  // keeps prompts; must outlive the scheduler, with keys and values of the same type
    bool scores_prompts = false;     // whether requests may ask for scores of their prompts, which take memory
  };
  using Event = SampleEvent;

  /// Returns the model determines the size of keys and values. Throws Error if there is not enough memory, and for a type of keys and
  /// values that the model cannot read.
  Scheduler(const Gpt& model, const Options& options);
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;
  ~Scheduler();

  /// Returns the most bytes of a scheduler for models with this configuration (Gpt::config()): keys and values of full contexts, and
  /// logits. They do not include the prompts' cache.
  static std::size_t bytes(const TransformerConfig& model, const Options& options);

  /// Queues a sample and returns its number: 0, 1, 2, and so on. Throws what check(request) throws, and Error for a model whose keys and
  /// values have another size than the scheduler's. A refused request has no number. Without Options::scores_prompts, also throws Error for
  /// one with prompt_alternatives.
  index add(SampleRequest request);

  /// Ends a sample that is running or waiting: it receives no more tokens, and the next step has its end. Ignores other numbers.
  void end(index number, Ending why);

  /// Makes one pass of the model, or one of each model for single tokens, if something waits for it. Returns the scores of prompts, the
  /// tokens that samples have drawn, and the samples' ends, in the order of their numbers and in this order for each sample. The events are
  /// valid until the next step. A sample whose logits are NaN, whose constraint throws, or that needs more memory than there is, ends with
  /// SampleEvent::failure, and the others continue. If step() itself throws, the scheduler cannot continue.
  std::span<const Event> step();
  /// Returns whether the next step makes a pass of a model.
  bool reads_next() const;

  /// Returns whether nothing runs or waits, and no event is left to return.
  bool is_idle() const;
  index running() const;  // samples that have a stream
  index waiting() const;  // samples that wait for one
  /// Numbers of prompt tokens that models have read so far, and of those that came from a cache.
  index prompt_tokens_read() const;
  index prompt_tokens_cached() const;
  /// Returns whether any sample's context has been full and has dropped its oldest tokens.
  bool outgrew_context() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace dikkat
