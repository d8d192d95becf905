#include "train/sample/scheduler.h"

namespace dikkat {

struct Scheduler::One {
  index number;
  SampleRequest request;
  std::optional<Generation> generation;
  std::optional<Ending> wanted;
  std::vector<float> logits;
  bool over = false;
};

Scheduler::Scheduler(const Gpt&, const Options& options) : options_(options) {}
std::size_t Scheduler::bytes(const TransformerConfig& model, const Options& options) {
  return static_cast<std::size_t>(options.streams * model.n_layer * model.block_size * 2 * model.n_kv_head * model.head_size) * 4;
}
Scheduler::~Scheduler() = default;

index Scheduler::add(SampleRequest request) {
  auto one = std::make_unique<One>();
  one->number = next_++;
  one->request = std::move(request);
  all_.push_back(std::move(one));
  return all_.back()->number;
}
void Scheduler::end(index number, Ending why) {
  for (auto& one : all_) {
    if (one->number == number) {
      one->wanted = why;
    }
  }
}
std::span<const Scheduler::Event> Scheduler::step() {
  events_.clear();
  index at = 0;
  for (auto& one : all_) {
    if (one->wanted) {
      events_.push_back({.number = one->number, .ending = one->wanted});
      one->over = true;
      continue;
    }
    if (at++ >= options_.streams) {
      continue;
    }
    if (!one->generation) {
      SampleOptions options = one->request.options;
      options.num_samples = 1;
      options.first_sample += one->request.sample;
      options.prompts = options_.prompts;
      one->generation.emplace(*one->request.model, one->request.vocabulary, std::vector<std::vector<Token>>{one->request.prompt}, options);
    }
    const auto event = one->generation->next();
    one->logits.assign(event->logits.begin(), event->logits.end());
    events_.push_back({.number = one->number, .token = event->token, .logits = one->logits, .ending = event->ending});
    one->over = event->ending.has_value();
  }
  std::erase_if(all_, [](const auto& one) { return one->over; });
  return events_;
}
bool Scheduler::is_idle() const { return all_.empty(); }
index Scheduler::running() const { return std::min<index>(std::ssize(all_), options_.streams); }
index Scheduler::waiting() const { return std::ssize(all_) - running(); }

}  // namespace dikkat
