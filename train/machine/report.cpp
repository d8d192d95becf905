#include "train/machine/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "autograd/base/pages.h"
#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "autograd/kernels/attention/attention.h"
#include "autograd/kernels/gemm/gemm.h"
#include "autograd/kernels/instruction_set.h"
#include "autograd/simd/philox.h"
#include "train/config/resolve.h"
#include "train/machine/limits.h"
#include "train/machine/random_step.h"
#include "train/model/model_flops.h"
#include "train/model/pack_weights.h"
#include "train/sample/generate.h"
#include "train/system/machine_memory.h"

namespace dikkat {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the median time of f in seconds, over as many runs as fit into `budget` seconds, at least three, after one that is not timed.
template <class F>
double median_seconds(double budget, F&& f) {
  constexpr std::size_t kFewest = 3, kMost = 10'000;
  f();
  std::vector<double> times;
  for (const auto begin = Clock::now(); times.size() < kFewest || (seconds_since(begin) < budget && times.size() < kMost);) {
    const auto start = Clock::now();
    f();
    times.push_back(seconds_since(start));
  }
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::ranges::nth_element(times, middle);
  return *middle;
}

std::vector<float> random_numbers(index count, std::uint64_t draw) {
  const RandomStream stream(1, "bench", draw);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (index i = 0; i < count; ++i) {
    numbers[static_cast<std::size_t>(i)] = static_cast<float>(stream.word(i) >> 8) * 0x1p-23F - 1;
  }
  return numbers;
}

/// The GPT whose steps and tokens are timed.
struct TimedModel {
  const char* name;
  const char* batch;  // the batch of a training step
  const char* key;
  index n_layer, n_head, n_embd, block_size, vocab_size, batch_size;
  bool fits_caches;  // whether the weights fit into the caches, so a token does not read memory
};
// The small one is nanoGPT's for Shakespeare's characters on a CPU, the large one is GPT-2 124M.
constexpr TimedModel kSmall{"0.8 M parameters", "12 x 64 characters", "small", 4, 4, 128, 64, 65, 12, true};
constexpr TimedModel kLarge{"124 M parameters (GPT-2)", "4 x 64 tokens", "large", 12, 12, 768, 64, 50257, 4, false};

Config config_of(const TimedModel& model, Precision precision) {
  Config config;
  config.model.n_layer = model.n_layer;
  config.model.n_head = model.n_head;
  config.model.n_embd = model.n_embd;
  config.model.block_size = model.block_size;
  config.model.vocab_size = model.vocab_size;
  config.model.dropout = 0;
  config.train.batch_size = model.batch_size;
  config.train.precision = precision;
  resolve(config);
  return config;
}

class Measurement {
 public:
  Measurement(bool quick, const std::function<void(double)>& progress) : quick_(quick), budget_(quick ? 0.05 : 0.8), progress_(progress) {}

  MachineReport run() {
    const auto start = Clock::now();
    const bool has_memory = machine_memory().available >= kMemoryOfLarge, measures_large = has_memory && !quick_;
    if (!measures_large) {
      report_.left_out.push_back(
          concat("the large model, and the bandwidth of memory: ", quick_ ? "--quick was given" : "less than 4 GB are available"));
    }
    measure_limits(measures_large);
    name_limits();
    products();
    attention("attention_64", 8, 4, 64, 256);
    attention("attention_32", 12, 4, 32, 64);
    training(kSmall);
    if (measures_large) {
      training(kLarge);
    }
    decoding(kSmall, PackedType::f32);
    if (measures_large) {
      for (const PackedType type : {PackedType::f32, PackedType::bf16, PackedType::q8, PackedType::q4}) {
        decoding(kLarge, type);
      }
    }
    measure_limits(measures_large);
    fill_shares();
    progress_(1);
    report_.seconds = seconds_since(start);
    return std::move(report_);
  }

 private:
  static constexpr std::size_t kMemoryOfLarge = std::size_t{4} << 30;
  static constexpr double kParts = 22;  // the parts that progress counts

  void next() { progress_(std::min(done_++ / kParts, 1.0)); }

  /// A limit of the machine. 0: it was not measured.
  struct Limit {
    double rate = 0;  // FLOP/s, or bytes per second
    void raise(double measured) { rate = std::max(rate, measured); }
  };

  /// Adds a figure. `rate` is in the unit of `limit`; its share is computed when the limits are known.
  void add(const char* group, std::string name, std::string key, double value, const char* unit, double rate = 0,
           const Limit* limit = nullptr) {
    report_.figures.push_back({.group = group, .name = std::move(name), .key = std::move(key), .value = value, .unit = unit});
    rated_.push_back({rate, limit});
  }

  /// Adds the rate of `flops` in `seconds`, with its share of `limit`. A product is slower than the limit, so it raises a limit that was
  /// measured too low.
  void add_rate(const char* group, std::string name, std::string key, double flops, double seconds, Limit& limit) {
    const double rate = flops / seconds;
    limit.raise(rate);
    add(group, std::move(name), std::move(key), rate * 1e-9, "GFLOP/s", rate, &limit);
  }

  /// Measures the limits. Other programs make a limit too low, never too high. So this is done first and last, and the highest rate counts.
  void measure_limits(bool memory_too) {
    next();
    f32_peak_.raise(peak_flops(DType::f32));
    f64_peak_.raise(f32_peak_.rate / 2);
    if (kernels::has_bf16_products()) {
      bf16_peak_.raise(peak_flops(DType::bf16));
    }
    if (memory_too) {
      next();
      copy_rate_.raise(copy_bandwidth());
      read_rate_.raise(read_bandwidth(*written_memory(index{256} << 20), budget_));
    }
  }

  /// Returns memory that was written, so that each page is there.
  static std::unique_ptr<Pages> written_memory(index bytes) {
    auto memory = std::make_unique<Pages>(static_cast<std::size_t>(bytes), "memory to measure its bandwidth");
    std::memset(memory->data(), 1, memory->size());
    return memory;
  }

  /// Adds the measured limits as figures. Their values are set at the end.
  void name_limits() {
    const auto name_one = [this](const Limit& limit, const char* name, const char* key, const char* unit) {
      if (limit.rate > 0) {
        add("limits", name, key, 0, unit, 0, &limit);
      }
    };
    name_one(f32_peak_, "f32 multiply-adds in registers", "f32_peak", "GFLOP/s");
    name_one(bf16_peak_, "bf16 multiply-adds in registers", "bf16_peak", "GFLOP/s");
    name_one(copy_rate_, "copying memory, read and written", "copy", "GB/s");
    name_one(read_rate_, "reading memory", "read", "GB/s");
  }

  void fill_shares() {
    for (std::size_t i = 0; i < rated_.size(); ++i) {
      const auto& [rate, limit] = rated_[i];
      if (limit == nullptr) {
        continue;
      }
      MachineFigure& figure = report_.figures[i];
      if (figure.group == "limits") {
        figure.value = limit->rate * 1e-9;
      } else {
        figure.share = rate / limit->rate;
        figure.of_rate = limit->rate * 1e-9;
      }
    }
  }

  template <class T, class Problem>
  void product(const std::string& type, index m, index n, index k, Limit& limit) {
    next();
    std::vector<float> a = random_numbers(m * k, 1), b = random_numbers(n * k, 2);
    const std::vector<T> x(a.begin(), a.end()), y(b.begin(), b.end());
    std::vector<T> c(static_cast<std::size_t>(m * n));
    const Problem problem{
        .m = m, .n = n, .k = k, .a = x.data(), .lda = k, .b = y.data(), .ldb = k, .transpose_b = true, .c = c.data(), .ldc = n};
    const double seconds = median_seconds(budget_, [&] { kernels::gemm(problem); });
    add_rate("products", concat(type, ", ", m, " x ", n, " x ", k), concat(type, '_', m, '_', n, '_', k),
             2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k), seconds, limit);
  }

  void products() {
    for (const auto& [m, n, k] : {std::tuple<index, index, index>{1024, 768, 768}, {768, 512, 128}}) {
      product<float, kernels::Gemm<float>>("f32", m, n, k, f32_peak_);
      if (bf16_peak_.rate > 0) {
        product<float, kernels::Bf16Gemm>("bf16", m, n, k, bf16_peak_);
      }
    }
    product<double, kernels::Gemm<double>>("f64", 512, 512, 512, f64_peak_);
  }

  /// Times one layer's causal attention, forward and backward, without dropout.
  void attention(const std::string& key, index batch, index heads, index size, index time) {
    next();
    // Make a problem of random numbers.
    const index width = heads * size, rows = batch * time;
    const std::vector<float> qkv = random_numbers(rows * 3 * width, 3), dy = random_numbers(rows * width, 4);
    std::vector<float> dqkv(qkv.size()), y(dy.size()), log2_sum(static_cast<std::size_t>(rows * heads));
    const kernels::AttentionShape shape{.batch = batch,
                                        .heads = heads,
                                        .queries = time,
                                        .keys = time,
                                        .head_size = size,
                                        .scale = 1 / std::sqrt(static_cast<double>(size)),
                                        .causal = true};
    const auto part = [&]<class T>(T* data, index which) { return kernels::Heads<T>{data + which * width, time * 3 * width, 3 * width}; };
    const auto whole = [&]<class T>(T* data) { return kernels::Heads<T>{data, time * width, width}; };
    // Describe the passes. Queries, keys and values are interleaved, as a layer has them.
    const kernels::AttentionForward<float> forward{.shape = shape,
                                                   .q = part(qkv.data(), 0),
                                                   .k = part(qkv.data(), 1),
                                                   .v = part(qkv.data(), 2),
                                                   .y = whole(y.data()),
                                                   .log2_sum = log2_sum.data()};
    const kernels::AttentionBackward<float> backward{.shape = shape,
                                                     .q = part(qkv.data(), 0),
                                                     .k = part(qkv.data(), 1),
                                                     .v = part(qkv.data(), 2),
                                                     .y = whole(std::as_const(y).data()),
                                                     .dy = whole(dy.data()),
                                                     .log2_sum = log2_sum.data(),
                                                     .dq = {part(dqkv.data(), 0)},
                                                     .dk = {part(dqkv.data(), 1)},
                                                     .dv = {part(dqkv.data(), 2)}};
    // Time both. A query sees half of the keys on average. Forward has two products over the scores, backward five.
    const double product = 2 * static_cast<double>(batch * heads * size) * static_cast<double>(time * (time + 1)) / 2;
    const std::string name = concat("heads of ", size, ", ", time, " tokens");
    const double forward_seconds = median_seconds(budget_ / 2, [&] { kernels::attention_forward<float>(forward); });
    add_rate("attention", name + ", forward", key + "_forward", 2 * product, forward_seconds, f32_peak_);
    const double backward_seconds = median_seconds(budget_ / 2, [&] { kernels::attention_backward<float>(backward); });
    add_rate("attention", name + ", backward", key + "_backward", 5 * product, backward_seconds, f32_peak_);
  }

  void training(const TimedModel& model) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      if (precision == Precision::bf16 && bf16_peak_.rate == 0) {
        continue;
      }
      const std::string type(name_of(precision));
      next();
      RandomStep step(config_of(model, precision));
      step.run();  // allocates
      const double seconds = median_seconds(2 * budget_, [&] { step.run(); });
      Limit& limit = precision == Precision::bf16 ? bf16_peak_ : f32_peak_;
      const double rate = training_flops(step.model(), step.batch()) / seconds;
      limit.raise(rate);
      add("training", concat(model.name, ", ", model.batch, ", ", type), concat("step_", model.key, "_", type), seconds * 1e3, "ms", rate,
          &limit);
    }
  }

  /// Times tokens of one stream. Unless caches hold the weights, its share is of the best time to read memory of their size, measured
  /// before and after.
  void decoding(const TimedModel& timed, PackedType type) {
    constexpr index kTokens = 40, kPrompt = 8;
    const std::string name(name_of(type));
    next();
    const Config config = config_of(timed, Precision::f32);
    LanguageModel model(config.model, 1);
    model.parameters().allocate(1);
    pack_weights(model.parameters(), type);
    const auto generate_one = [&](index tokens) {
      std::vector<double> seconds;
      Generation generation(model.gpt(), {.size = timed.vocab_size}, {random_tokens(kPrompt, timed.vocab_size, 5)},
                            {.max_new_tokens = tokens});
      for (auto last = Clock::now(); const auto event = generation.next(); last = Clock::now()) {
        if (!event->ending) {
          seconds.push_back(seconds_since(last));
        }
      }
      return seconds;
    };
    const index bytes = bytes_per_token(model);
    Limit* limit = nullptr;
    std::unique_ptr<Pages> memory;
    if (!timed.fits_caches) {
      limit = &reading_limits_.emplace_back();
      memory = written_memory(bytes);
      limit->raise(read_bandwidth(*memory, budget_ / 2));
    }
    generate_one(2);
    std::vector<double> seconds = generate_one(kTokens);
    if (limit != nullptr) {
      limit->raise(read_bandwidth(*memory, budget_ / 2));
    }
    seconds.erase(seconds.begin());  // reads the prompt
    std::ranges::nth_element(seconds, seconds.begin() + std::ssize(seconds) / 2);
    const double median = seconds[seconds.size() / 2];
    add("decoding", concat(timed.name, ", ", name), concat("decode_", timed.key, "_", name), 1 / median, "tokens/s",
        static_cast<double>(bytes) / median, limit);
  }

  /// Returns the bytes of the weights that a token reads: all but the table of positions.
  static index bytes_per_token(const LanguageModel& model) {
    index bytes = 0;
    for (const ParameterStore::Entry* entry : model.parameters().entries()) {
      if (entry->path != "wpe.weight") {
        const PackedType packing = entry->record.packing;
        const Shape& shape = entry->shape();
        bytes += packing == PackedType::f32 ? 4 * shape.size() : packed_bytes(packing, shape[0], shape[1]);
      }
    }
    return bytes;
  }

  bool quick_;
  double budget_;  // seconds of a kernel's runs
  const std::function<void(double)>& progress_;
  MachineReport report_;
  double done_ = 0;
  Limit f32_peak_, f64_peak_, bf16_peak_, copy_rate_, read_rate_;
  std::deque<Limit> reading_limits_;  // one for each model and type whose weights are read from memory
  struct Rated {
    double rate;
    const Limit* limit;  // null: none
  };
  std::vector<Rated> rated_;  // one for each figure
};

}  // namespace

const MachineFigure* MachineReport::find(std::string_view key) const {
  const auto found = std::ranges::find(figures, key, &MachineFigure::key);
  return found == figures.end() ? nullptr : &*found;
}

MachineReport measure_machine(bool quick, const std::function<void(double share)>& progress) { return Measurement(quick, progress).run(); }

}  // namespace dikkat
