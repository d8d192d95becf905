#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "train/sample/generate.h"

namespace dikkat {

/// One sample of a prompt.
struct SampleRequest {
  const Gpt* model = nullptr;
  Vocabulary vocabulary{};
  std::vector<Token> prompt{};
  SampleOptions options{};
  index sample = 0;  // selects its random numbers
};

struct SampleEvent {
  index number = 0;
  Token token = 0;
  std::span<const float> logits{};
  std::optional<Ending> ending{};
};

/// Generates samples together. They join and leave between tokens.
class Scheduler {
 public:
  struct Options {
    index streams = 1;
    std::optional<DType> cache{};
    PromptCache* prompts = nullptr;
  };
  using Event = SampleEvent;

  Scheduler(const Gpt& model, const Options& options);
  ~Scheduler();
  static std::size_t bytes(const TransformerConfig& model, const Options& options);

  index add(SampleRequest request);
  void end(index number, Ending why);
  std::span<const Event> step();
  bool is_idle() const;
  index running() const;
  index waiting() const;

 private:
  struct One;
  Options options_;
  std::vector<std::unique_ptr<One>> all_;
  std::vector<Event> events_;
  index next_ = 0;
};

}  // namespace dikkat
