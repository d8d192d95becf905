#include "train/sample/scheduler.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "autograd/base/parallel.h"
#include "train/sample/model_passes.h"
#include "train/sample/prompt_cache.h"
#include "train/sample/running_sample.h"

namespace dikkat {
namespace {

/// The next need of a stream's sample.
enum class Need {
  nothing,  // there is no sample
  prompt,   // chunks of its context must be read
  leader,   // another stream reads the same prompt
  draw,     // its logits are computed
  token,    // its last token must be read
};

/// Memory for one running sample, and the sample. It keeps the prompt's keys and values after the sample has ended.
struct Stream {
  Need need = Need::nothing;
  std::optional<RunningSample> sample{};
  KeyValueCache keys_and_values;
  Stream* leader = nullptr;         // the stream that reads the prompt, for Need::leader
  bool draws_after_prompt = false;  // for Need::draw: whether to draw from prompt_logits
  index prompt_cached = 0;          // tokens of the sample's prompt that were not read for it
  std::int64_t left = 0;            // when its last sample ended, counted in ends

  PromptScores scores{};  // those of a prompt that is being read, if its sample asks for them

  // The prompt whose keys and values lie here, starting at the first position.
  const Gpt* model = nullptr;
  std::vector<Token> prompt{};         // the part of it that is in a context
  bool has_prompt = false;             // whether it has been read, and is kept
  std::vector<float> prompt_logits{};  // (V): the logits after the prompt, if it has been read

  bool is_free() const { return need == Need::nothing; }
  bool is_of(const Gpt& of, std::span<const Token> context) const { return model == &of && std::ranges::equal(prompt, context); }
  /// Returns whether the sample's context is its prompt, which has not been read yet.
  bool reads_prompt() const { return need == Need::prompt && !has_prompt && !prompt.empty(); }
};

/// The size that models must share to share a scheduler.
struct Size {
  index layers, keys, context, vocabulary;

  explicit Size(const Gpt& model)
      : layers(model.config().n_layer),
        keys(model.config().n_kv_head * model.config().head_size),
        context(model.config().block_size),
        vocabulary(model.config().vocab_size) {}
  bool operator==(const Size&) const = default;
};

}  // namespace

class Scheduler::State {
 public:
  State(const Gpt& model, const Options& options)
      : size_(model), cache_(model.cache_type(options.cache)), prompts_(options.prompts), scores_prompts_(options.scores_prompts) {
    require(options.streams >= 1, "sample: ", options.streams, " streams, expected 1 or more");
    require(prompts_ == nullptr || prompts_->dtype() == cache_, "sample: prompts are kept as ",
            prompts_ == nullptr ? cache_ : prompts_->dtype(), ", expected ", cache_, ", as keys and values of samples");
    streams_.reserve(static_cast<std::size_t>(options.streams));
    for (index i = 0; i < options.streams; ++i) {
      streams_.push_back({.keys_and_values = model.cache(1, cache_)});
    }
    logits_.resize(static_cast<std::size_t>(options.streams * size_.vocabulary));
  }

  index add(SampleRequest request) {
    check(request);
    const Size size(*request.model);
    require(size == size_ && request.model->cache_type(cache_) == cache_, "sample: a model of ", size.layers, " layers, ", size.keys,
            " columns of keys, contexts of ", size.context, " and ", size.vocabulary,
            " tokens, expected one like the scheduler's: ", size_.layers, ", ", size_.keys, ", ", size_.context, " and ", size_.vocabulary);
    require(scores_prompts_ || !request.prompt_alternatives,
            "sample: a request for the scores of a prompt, expected none without scores_prompts");
    if (request.options.max_new_tokens == 0 && !request.prompt_alternatives) {
      ended_.push_back({.number = next_, .ending = Ending::length});
      return next_++;
    }
    waiting_.emplace_back(next_, std::move(request));
    admit();
    return next_++;
  }

  void end(index number, Ending why) {
    const auto found = std::ranges::find_if(streams_, [&](const Stream& one) { return one.sample && one.sample->number() == number; });
    if (found != streams_.end()) {
      leave(*found);
    } else if (std::erase_if(waiting_, [&](const Waiting& one) { return one.first == number; }) == 0) {
      return;
    }
    ended_.push_back({.number = number, .ending = why});
    admit();
  }

  std::span<const Event> step() {
    events_ = std::exchange(ended_, {});
    given_.clear();
    // Read a chunk of a prompt or the last tokens, in turn, if there are any.
    for (Stream& one : streams_) {
      const index dropped = one.need == Need::token ? one.sample->drop_oldest() : 0;
      if (dropped == 0) {
        continue;
      }
      outgrew_context_ = true;
      one.has_prompt = false;
      one.prompt.clear();
      if (one.sample->keeps_rest()) {
        one.keys_and_values.drop_oldest(0, dropped);
      } else {
        one.keys_and_values.clear();
        one.need = Need::prompt;
        reading_.push_back(&one);
      }
    }
    const bool has_tokens = std::ranges::any_of(streams_, [](const Stream& one) { return one.need == Need::token; });
    is_turn_of_prompts_ = !reading_.empty() && (is_turn_of_prompts_ || !has_tokens);
    if (is_turn_of_prompts_) {
      read_chunks();
    } else if (has_tokens) {
      read_tokens();
    }
    is_turn_of_prompts_ = !is_turn_of_prompts_;
    draw();
    std::ranges::stable_sort(events_, {}, &Event::number);
    admit();
    return events_;
  }

  bool reads_next() const {
    return std::ranges::any_of(streams_, [](const Stream& one) { return one.need == Need::token || one.need == Need::prompt; });
  }
  bool is_idle() const { return running() == 0 && waiting_.empty() && ended_.empty(); }
  index running() const {
    return std::ranges::count_if(streams_, [](const Stream& one) { return !one.is_free(); });
  }
  index waiting() const { return std::ssize(waiting_); }
  index prompt_tokens_read() const { return prompt_tokens_read_; }
  index prompt_tokens_cached() const { return prompt_tokens_cached_; }
  bool outgrew_context() const { return outgrew_context_; }

 private:
  using Waiting = std::pair<index, SampleRequest>;

  std::span<float> logits_of(const Stream& one) {
    const auto width = static_cast<std::size_t>(size_.vocabulary);
    return std::span(logits_).subspan(static_cast<std::size_t>(&one - streams_.data()) * width, width);
  }

  /// Assigns free streams to the requests that have waited longest.
  void admit() {
    while (!waiting_.empty()) {
      const SampleRequest& next = waiting_.front().second;
      Stream* stream = free_stream_for(next);
      if (stream == nullptr) {
        return;
      }
      auto [number, request] = std::move(waiting_.front());
      waiting_.pop_front();
      try {
        begin(*stream, RunningSample(number, std::move(request)));
      } catch (const std::exception&) {
        ended_.push_back(failed(number, std::current_exception()));
        forget(*stream);
      }
    }
  }

  /// Returns the free stream that has this prompt, or else one without a prompt, or else the one that was left first. Null if none is free.
  Stream* free_stream_for(const SampleRequest& request) {
    Stream* found = nullptr;
    const auto context = end_of(request.prompt);
    for (Stream& one : streams_) {
      if (!one.is_free()) {
        continue;
      }
      if (one.has_prompt && one.is_of(*request.model, context)) {
        return &one;
      }
      if (found == nullptr || (found->has_prompt && (!one.has_prompt || one.left < found->left))) {
        found = &one;
      }
    }
    return found;
  }

  /// Returns the end of a prompt that fits into a context.
  std::span<const Token> end_of(std::span<const Token> prompt) const {
    return prompt.last(std::min(prompt.size(), static_cast<std::size_t>(size_.context)));
  }

  void begin(Stream& stream, RunningSample sample) {
    const auto context = sample.context();
    const Gpt& model = sample.model();
    // Look for a stream that has read the prompt, or is reading it. Those with scores read it by themselves.
    const bool is_scored = sample.prompt_alternatives().has_value();
    const auto has = [&](const Stream& one) { return !is_scored && one.has_prompt && one.is_of(model, context); };
    const auto reads = [&](const Stream& one) {
      return !is_scored && one.reads_prompt() && !one.sample->prompt_alternatives() && one.is_of(model, context);
    };
    stream.scores = {.usable = sample.usable_ids(), .alternatives = sample.prompt_alternatives().value_or(0)};
    Stream* with = has(stream) ? &stream : find(has);
    Stream* reader = with == nullptr ? find(reads) : nullptr;
    if (with == nullptr) {
      stream.keys_and_values.clear();
      stream.has_prompt = false;
      stream.model = &model;
      stream.prompt.assign(context.begin(), context.end());
    }
    stream.sample.emplace(std::move(sample));
    stream.prompt_cached = 0;
    if (with != nullptr) {
      take_prompt(stream, *with);
    } else if (reader != nullptr) {
      stream.need = Need::leader;
      stream.leader = reader;
    } else {
      stream.need = Need::prompt;
      reading_.push_back(&stream);
    }
  }

  template <class F>
  Stream* find(F&& is_wanted) {
    const auto found = std::ranges::find_if(streams_, is_wanted);
    return found == streams_.end() ? nullptr : &*found;
  }

  /// Begins with a prompt that another stream, or this one, has.
  void take_prompt(Stream& to, const Stream& from) {
    const index size = std::ssize(from.prompt);
    if (&to == &from) {
      to.keys_and_values.truncate(0, size);
    } else {
      to.keys_and_values.clear();
      to.keys_and_values.append_positions(0, from.keys_and_values, 0, 0, size);
      to.model = from.model;
      to.prompt = from.prompt;
      to.prompt_logits = from.prompt_logits;
      to.has_prompt = true;
    }
    prompt_tokens_cached_ += size;
    to.prompt_cached = size;
    to.leader = nullptr;
    to.need = Need::draw;
    to.draws_after_prompt = true;  // logits of the last step may still be in use
  }

  /// The next chunk of a sample's context.
  struct Part {
    Stream* stream;
    std::span<const Token> tokens{};
    bool is_prompt = false, is_scored = false;
    bool is_last = false;  // of the context

    const Gpt& model() const { return stream->sample->model(); }
    /// Returns whether the model draws from the logits after the chunk.
    bool is_drawn_from() const { return is_last && stream->sample->draws(); }
  };

  /// Reads the chunk that has waited longest, and chunks of others that fit into its pass.
  void read_chunks() {
    std::vector<Part> parts;
    for (Stream* one : std::vector(reading_.begin(), reading_.end())) {
      try {
        if (const Part part = next_part(*one); parts.empty() || fits(parts, part)) {
          parts.push_back(part);
        }
      } catch (const std::exception&) {
        fail_sample(*one, std::current_exception());
      }
    }
    std::vector<ModelPasses::Chunk> chunks;
    for (const Part& part : parts) {
      const bool is_drawn_from = part.is_drawn_from();
      chunks.push_back({part.tokens, &part.stream->keys_and_values, is_drawn_from ? logits_of(*part.stream) : std::span<float>{}});
    }
    std::span<const char> is_nan;
    try {
      is_nan = parts.empty() ? is_nan : passes_.read_chunks(parts.front().model(), chunks, parts.front().is_scored);
    } catch (const std::exception&) {
      for (const Part& part : parts) {
        fail_sample(*part.stream, std::current_exception());
      }
      return;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      try {
        if (is_nan[i] != 0) {
          throw ModelPasses::nan_error();
        }
        take(parts[i], static_cast<index>(i));
      } catch (const std::exception&) {
        fail_sample(*parts[i].stream, std::current_exception());
      }
    }
  }

  /// Returns the next chunk of a context, after those that are known from earlier prompts.
  Part next_part(Stream& one) {
    const auto context = one.sample->context();
    Part part{.stream = &one, .is_prompt = one.reads_prompt()};
    part.is_scored = part.is_prompt && one.sample->prompt_alternatives();
    if (prompts_ != nullptr && part.is_prompt) {
      const index cached = prompts_->extend(one.sample->model(), context, one.keys_and_values, part.is_scored ? &one.scores : nullptr);
      prompt_tokens_cached_ += cached;
      one.prompt_cached += cached;
    }
    const auto begin = static_cast<std::size_t>(one.keys_and_values.length());
    part.tokens = context.subspan(begin, std::min(static_cast<std::size_t>(PromptCache::kChunk), context.size() - begin));
    part.is_last = begin + part.tokens.size() == context.size();
    return part;
  }

  /// Returns whether a chunk fits into a pass, filled up to the longest one, with at most kChunk tokens.
  bool fits(const std::vector<Part>& parts, const Part& part) const {
    const auto size_of = [](const Part& one) { return std::ssize(one.tokens); };
    const Part& first = parts.front();
    const index begin = part.stream->keys_and_values.length();
    const index longest = std::max(size_of(part), size_of(*std::ranges::max_element(parts, {}, size_of)));
    return &part.model() == &first.model() && part.is_scored == first.is_scored && begin == first.stream->keys_and_values.length() &&
           std::min(size_of(part), size_of(first)) > ModelPasses::kMostRows && begin + longest <= size_.context &&
           (std::ssize(parts) + 1) * longest <= PromptCache::kChunk;
  }

  /// Takes the results of a chunk that was read as number `i` of its pass.
  void take(const Part& part, index i) {
    Stream& one = *part.stream;
    prompt_tokens_read_ += std::ssize(part.tokens);
    if (part.is_scored) {
      one.scores.score(part.tokens, [&](index token) { return passes_.logits_after(i, token); });
    }
    if (prompts_ != nullptr && part.is_prompt && std::ssize(part.tokens) == PromptCache::kChunk) {
      prompts_->add(part.model(), one.sample->context(), one.keys_and_values, part.is_scored ? &one.scores : nullptr);
    }
    const auto at = std::ranges::find(reading_, &one);
    if (!part.is_last) {
      std::rotate(at, at + 1, reading_.end());
      return;
    }
    reading_.erase(at);
    one.need = Need::draw;
    if (part.is_scored) {
      give_scores(one);
    } else if (part.is_prompt) {
      one.prompt_logits.assign(logits_of(one).begin(), logits_of(one).end());
      one.has_prompt = true;
      share_prompt(one);
    }
  }

  /// Reports the scores of a prompt that has been read, and its sample's end if it draws nothing.
  void give_scores(Stream& one) {
    const index number = one.sample->number();
    const std::vector<ScoredToken>& scores = given_.emplace_back(std::move(one.scores.tokens));
    events_.push_back({.number = number, .prompt_scores = scores, .prompt_cached = one.prompt_cached});
    if (!one.sample->draws()) {
      events_.push_back({.number = number, .ending = Ending::length});
      leave(one);
    }
  }

  /// Gives the prompt that a stream has read to those that wait for it.
  void share_prompt(const Stream& one) {
    for (Stream& other : streams_) {
      if (other.need == Need::leader && other.leader == &one) {
        try {
          take_prompt(other, one);
        } catch (const std::exception&) {
          fail_sample(other, std::current_exception());
        }
      }
    }
  }

  /// Reads the last token of all samples that have one more, in passes of one model.
  void read_tokens() {
    std::vector<Stream*> left;
    for (Stream& one : streams_) {
      if (one.need == Need::token) {
        left.push_back(&one);
      }
    }
    while (!left.empty()) {
      const Gpt& model = left.front()->sample->model();
      std::vector<Stream*> others, streams;  // streams of other models, and of the rows
      rows_.clear();
      for (Stream* one : left) {
        if (&one->sample->model() != &model) {
          others.push_back(one);
          continue;
        }
        streams.push_back(one);
        rows_.push_back({.token = one->sample->context().back(), .sequence = &one->keys_and_values, .logits = logits_of(*one)});
      }
      // Make passes of about the same size.
      const index count = std::ssize(rows_);
      const index passes = ceil_div(count, ModelPasses::kMostRows);
      for (index i = 0; i < passes; ++i) {
        const index from = count * i / passes;
        const auto of_pass = [&](auto& all) {
          return std::span(all).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count * (i + 1) / passes - from));
        };
        read_pass(model, of_pass(rows_), of_pass(streams));
      }
      left = std::move(others);
    }
  }

  void read_pass(const Gpt& model, std::span<const ModelPasses::Row> rows, std::span<Stream* const> streams) {
    try {
      const std::span<const char> is_nan = passes_.read_one_of_each(model, rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (is_nan[i] != 0) {
          fail_sample(*streams[i], std::make_exception_ptr(ModelPasses::nan_error()));
        } else {
          streams[i]->need = Need::draw;
        }
      }
    } catch (const std::exception&) {
      for (Stream* one : streams) {
        fail_sample(*one, std::current_exception());
      }
    }
  }

  /// Draws a token for every sample that can, and ends those that are complete.
  void draw() {
    // Draw on all threads. An exception ends only its own sample.
    std::vector<Stream*> ready;
    for (Stream& one : streams_) {
      if (one.need == Need::draw) {
        ready.push_back(&one);
      }
    }
    std::vector<RunningSample::Drawn> drawn(ready.size());
    std::vector<std::exception_ptr> failures(ready.size());
    const auto count = static_cast<index>(ready.size());
    parallel_for(count, Work::elements(4 * count * size_.vocabulary), [&](index i) {
      const auto at = static_cast<std::size_t>(i);
      Stream& one = *ready[at];
      const auto logits = logits_of(one);
      if (std::exchange(one.draws_after_prompt, false)) {
        std::ranges::copy(one.prompt_logits, logits.begin());
      }
      try {
        drawn[at] = one.sample->draw(logits);
      } catch (const std::exception&) {
        failures[at] = std::current_exception();
      }
    });
    // Report the tokens and ends in the order of the streams.
    for (std::size_t i = 0; i < ready.size(); ++i) {
      Stream& one = *ready[i];
      const index number = one.sample->number();
      if (failures[i]) {
        fail_sample(one, failures[i]);
        continue;
      }
      one.need = Need::token;
      if (drawn[i].token) {
        events_.push_back({.number = number, .token = *drawn[i].token, .logits = logits_of(one), .prompt_cached = one.prompt_cached});
      }
      if (drawn[i].ending) {
        const auto logits = drawn[i].end_token ? logits_of(one) : std::span<float>();
        events_.push_back({.number = number, .logits = logits, .ending = drawn[i].ending, .end_token = drawn[i].end_token});
        leave(one);
      }
    }
  }

  static Event failed(index number, std::exception_ptr failure) {
    return {.number = number, .ending = Ending::interrupted, .failure = std::move(failure)};
  }

  /// Ends a sample after an exception. Its keys and values may be incomplete.
  void fail_sample(Stream& one, std::exception_ptr failure) {
    events_.push_back(failed(one.sample->number(), std::move(failure)));
    one.keys_and_values.clear();
    leave(one);
    one.has_prompt = false;
    one.prompt.clear();
  }

  /// Frees a stream whose sample could not begin.
  static void forget(Stream& one) {
    one.keys_and_values.clear();
    one.sample.reset();
    one.has_prompt = false;
    one.prompt.clear();
    one.leader = nullptr;
    one.draws_after_prompt = false;
    one.need = Need::nothing;
  }

  /// Frees a stream. Keeps its prompt, if it has been read. If not, the first stream that waits for the prompt continues to read it.
  void leave(Stream& one) {
    const auto follows = [&](const Stream& other) { return other.need == Need::leader && other.leader == &one; };
    if (one.need == Need::prompt) {
      const auto at = std::ranges::find(reading_, &one);
      if (Stream* next = find(follows); next != nullptr) {
        std::swap(next->keys_and_values, one.keys_and_values);
        next->prompt_cached = next->keys_and_values.length();
        next->need = Need::prompt;
        next->leader = nullptr;
        *at = next;
        for (Stream& other : streams_) {
          if (follows(other)) {
            other.leader = next;
          }
        }
      } else {
        reading_.erase(at);
      }
    }
    one.sample.reset();
    one.leader = nullptr;
    one.draws_after_prompt = false;
    one.need = Need::nothing;
    one.left = ++leavings_;
  }

  const Size size_;
  const DType cache_;
  PromptCache* prompts_;
  const bool scores_prompts_;
  ModelPasses passes_;
  std::vector<Stream> streams_;
  std::vector<float> logits_;  // (streams, V): the logits that the last tokens were drawn from
  std::deque<Waiting> waiting_;
  std::deque<Stream*> reading_;  // streams that need chunks, in turn
  bool is_turn_of_prompts_ = true;
  std::vector<ModelPasses::Row> rows_;
  std::vector<Event> events_;                    // the events of the last step
  std::vector<std::vector<ScoredToken>> given_;  // the scores in these events
  std::vector<Event> ended_;                     // the ends for the next step
  index next_ = 0;                               // the number of the next request
  std::int64_t leavings_ = 0;
  index prompt_tokens_read_ = 0, prompt_tokens_cached_ = 0;
  bool outgrew_context_ = false;
};

Scheduler::Scheduler(const Gpt& model, const Options& options) : state_(std::make_unique<State>(model, options)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

std::size_t Scheduler::bytes(const TransformerConfig& model, const Options& options) {
  const DType dtype = options.cache.value_or(DType::f32);
  // A growing cache is copied, so for a while the old one takes memory too.
  index before = 0;
  for (index positions = Gpt::kFirstPositions; positions < model.block_size; positions *= 2) {
    before = positions;
  }
  // Count logits after the last token, after the prompt, and after penalties; weights and ids of drawing; and tokens of the text.
  constexpr std::size_t kOfAToken = 3 * sizeof(float) + sizeof(float) + sizeof(index) + sizeof(Token) + 1;
  const std::size_t stream = key_value_bytes(model, model.block_size, dtype) + kOfAToken * static_cast<std::size_t>(model.vocab_size);
  const std::size_t all = static_cast<std::size_t>(options.streams) * stream + key_value_bytes(model, before, dtype);
  if (!options.scores_prompts) {
    return all;
  }
  // Count the scores of prompts, and the logits after all tokens of a pass.
  return all + PromptScores::bytes(model, options.streams * model.block_size, options.streams) +
         static_cast<std::size_t>(PromptCache::kChunk * model.vocab_size) * sizeof(float);
}

index Scheduler::add(SampleRequest request) { return state_->add(std::move(request)); }
void Scheduler::end(index number, Ending why) { state_->end(number, why); }
std::span<const Scheduler::Event> Scheduler::step() { return state_->step(); }
bool Scheduler::reads_next() const { return state_->reads_next(); }
bool Scheduler::is_idle() const { return state_->is_idle(); }
index Scheduler::running() const { return state_->running(); }
index Scheduler::waiting() const { return state_->waiting(); }
index Scheduler::prompt_tokens_read() const { return state_->prompt_tokens_read(); }
index Scheduler::prompt_tokens_cached() const { return state_->prompt_tokens_cached(); }
bool Scheduler::outgrew_context() const { return state_->outgrew_context(); }

}  // namespace dikkat
