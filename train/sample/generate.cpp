#include "train/sample/generate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "train/sample/draw.h"
#include "train/sample/scheduler.h"

namespace dikkat {
namespace {

constexpr index kNone = -1;

}  // namespace

/// Adds samples to a scheduler in the order of their numbers, so that it assigns these numbers. Returns the events of a step one by one.
class Generation::State {
 public:
  State(const Gpt& model, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts, SampleOptions options)
      : model_(model),
        vocabulary_(std::move(vocabulary)),
        prompts_(std::move(prompts)),
        options_(std::move(options)),
        total_(std::ssize(prompts_) * options_.num_samples),
        streams_(std::min(total_, kStreams)) {
    if (total_ > 0) {
      scheduler_.emplace(model, Scheduler::Options{.streams = streams_, .cache = options_.cache, .prompts = options_.prompts});
    }
    for (const std::vector<Token>& prompt : prompts_) {
      check(SampleRequest{.model = &model, .vocabulary = vocabulary_, .prompt = prompt, .options = options_});
    }
  }

  std::optional<Event> next() {
    // Return the end of a sample after its last token, also if the caller has ended it.
    if (const index number = std::exchange(given_, kNone); stopped_.contains(number)) {
      return stop(number);
    }
    while (true) {
      // Return the events of the last step.
      while (at_ < std::ssize(events_)) {
        const Event event = events_[static_cast<std::size_t>(at_++)];
        if (stopped_.contains(event.number)) {
          return stop(event.number);
        }
        if (!running_.contains(event.number)) {
          continue;  // its end was returned already
        }
        if (event.failure) {
          std::rethrow_exception(event.failure);
        }
        if (event.ending) {
          running_.erase(event.number);
        } else {
          given_ = event.number;
        }
        return event;
      }
      if (!is_interrupted_ && !add_samples()) {
        return std::nullopt;
      }
      is_interrupted_ = is_interrupted_ || (options_.interrupted && scheduler_->reads_next() && options_.interrupted());
      if (is_interrupted_) {
        return interruption();
      }
      at_ = 0;
      events_ = scheduler_->step();
    }
  }

  void end(index number) {
    if (running_.contains(number) && stopped_.insert(number).second) {
      scheduler_->end(number, Ending::stop);
    }
  }

  bool outgrew_context() const { return scheduler_ && scheduler_->outgrew_context(); }

 private:
  /// Adds the next samples, while streams are free. Returns false once all samples have ended.
  bool add_samples() {
    for (; next_ < total_ && std::ssize(running_) < streams_; ++next_) {
      running_.insert(scheduler_->add({.model = &model_,
                                       .vocabulary = vocabulary_,
                                       .prompt = prompts_[static_cast<std::size_t>(next_ / options_.num_samples)],
                                       .options = options_,
                                       .sample = next_ % options_.num_samples}));
    }
    return !running_.empty();
  }

  Event stop(index number) {
    stopped_.erase(number);
    running_.erase(number);
    return {.number = number, .ending = Ending::stop};
  }

  /// Returns the end of a sample after an interruption: first of those that have begun, then of the others.
  std::optional<Event> interruption() {
    if (running_.empty()) {
      return next_ < total_ ? std::optional(Event{.number = next_++, .ending = Ending::interrupted}) : std::nullopt;
    }
    const index number = *running_.begin();
    if (stopped_.contains(number)) {
      return stop(number);
    }
    running_.erase(number);
    return Event{.number = number, .ending = Ending::interrupted};
  }

  const Gpt& model_;
  const Vocabulary vocabulary_;
  const std::vector<std::vector<Token>> prompts_;
  const SampleOptions options_;
  const index total_;                   // samples of all prompts
  const index streams_;                 // samples that are generated together
  std::optional<Scheduler> scheduler_;  // absent if there are no samples
  index next_ = 0;                      // the number of the sample that begins next
  std::set<index> running_;             // samples that have begun, whose end was not returned
  std::set<index> stopped_;             // running samples that the caller has ended
  std::span<const Event> events_;       // the events of the last step
  index at_ = 0;                        // the next event
  index given_ = kNone;                 // the sample whose token was the last event, or kNone
  bool is_interrupted_ = false;
};

Generation::Generation(const Gpt& model, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts, SampleOptions options) {
  check(options);
  state_ = std::make_unique<State>(model, std::move(vocabulary), std::move(prompts), std::move(options));
}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<Generation::Event> Generation::next() { return state_->next(); }
void Generation::end(index number) { state_->end(number); }
bool Generation::outgrew_context() const { return state_->outgrew_context(); }

void Sample::add(const Generation::Event& event, bool with_log_probability) {
  if (event.ending) {
    ending = *event.ending;
    return;
  }
  tokens.push_back(event.token);
  if (with_log_probability) {
    log_probabilities.push_back(log_probability(event.logits, event.token));
  }
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts,
                             const SampleOptions& options) {
  Generation generation(model, vocabulary, std::vector(prompts.begin(), prompts.end()), options);
  std::vector<Sample> samples(prompts.size() * static_cast<std::size_t>(options.num_samples));
  while (const auto event = generation.next()) {
    samples[static_cast<std::size_t>(event->number)].add(*event, options.log_probabilities);
  }
  return samples;
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt,
                             const SampleOptions& options) {
  return generate(model, vocabulary, std::span(&prompt, 1), options);
}

}  // namespace dikkat
