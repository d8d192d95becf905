#include "train/run/assistant_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

struct Rung {
  index n_layer, n_head, n_embd, block_size;
};

/// The models, from the smallest one. Heads have 32 or 64 columns.
constexpr std::array<Rung, 9> kLadder{{{2, 2, 64, 128},
                                       {3, 3, 96, 128},
                                       {4, 4, 128, 128},
                                       {4, 3, 192, 256},
                                       {6, 4, 256, 256},
                                       {6, 5, 320, 256},
                                       {8, 6, 384, 256},
                                       {8, 8, 512, 512},
                                       {12, 12, 768, 512}}};

constexpr double kTokensPerParameter = 10;
constexpr double kMostEpochs = 16;  // Muennighoff et al. 2023 (arXiv 2305.16264): further ones gain little
constexpr double kLeastSeconds = 2;
constexpr index kLeastBytes = 4096;

/// Returns a power of two that the corpus can fill: a piece should be met about a hundred times.
index vocabulary_for(index bytes) {
  return std::clamp<index>(static_cast<index>(std::bit_floor(static_cast<std::size_t>(bytes / 128))), 512, 8192);
}

/// Returns the usual length of a piece in bytes of English, for vocabularies of powers of two.
double bytes_per_token(index vocab_size) { return 2.0 + 0.5 * (std::log2(static_cast<double>(vocab_size)) - 9); }

AssistantPlan plan_of(const Rung& rung, index vocab_size) {
  AssistantPlan plan;
  plan.n_layer = rung.n_layer;
  plan.n_head = rung.n_head;
  plan.n_embd = rung.n_embd;
  plan.block_size = rung.block_size;
  plan.vocab_size = vocab_size;
  plan.batch_size = 16;
  plan.parameters = 12 * rung.n_layer * rung.n_embd * rung.n_embd + vocab_size * rung.n_embd;
  return plan;
}

}  // namespace

double training_flops_per_token(const AssistantPlan& plan) {
  const double attention = 6.0 * static_cast<double>(plan.n_layer * plan.block_size * plan.n_embd);  // causal: half of the window
  return 6.0 * static_cast<double>(plan.parameters) + attention;
}

AssistantPlan plan_assistant(const AssistantWish& wish) {
  require_input(wish.seconds >= kLeastSeconds, "--time is ", wish.seconds, " seconds, expected at least ", kLeastSeconds,
                ": give the stages more time");
  require_input(wish.bytes >= kLeastBytes, "--corpus has ", wish.bytes, " bytes, expected at least ", kLeastBytes, ": give more text");
  require(wish.flops_per_second > 0, "the machine's rate must be positive");

  // The stages share the time: the tokenizer, measurements and evaluations take the rest.
  const double preferences = wish.has_preferences ? 0.05 : 0;
  const double other = 0.05, chats = 0.12;
  const double pretrain = wish.seconds * (1 - preferences - other - chats);

  const index vocab_size = vocabulary_for(wish.bytes);
  const auto corpus_tokens = static_cast<index>(static_cast<double>(wish.bytes) / bytes_per_token(vocab_size));
  AssistantPlan chosen = plan_of(kLadder.front(), vocab_size);
  for (const Rung& rung : kLadder) {
    const AssistantPlan plan = plan_of(rung, vocab_size);
    const double wanted = kTokensPerParameter * static_cast<double>(plan.parameters);
    const bool in_time = wanted * training_flops_per_token(plan) <= pretrain * wish.flops_per_second;
    if (in_time && wanted <= kMostEpochs * static_cast<double>(corpus_tokens)) {
      chosen = plan;
    }
  }
  chosen.corpus_tokens = corpus_tokens;
  chosen.pretrain_seconds = pretrain;
  chosen.chats_seconds = wish.seconds * chats;
  chosen.preferences_seconds = wish.seconds * preferences;
  chosen.other_seconds = wish.seconds * other;
  return chosen;
}

index steps_within(double seconds, double step_seconds) {
  require(step_seconds > 0, "a step must take time");
  return std::max<index>(1, static_cast<index>(seconds / step_seconds));
}

double seconds_of(const std::string& time) {
  double number = 0;
  const char* const end = time.data() + time.size();
  const auto [rest, error] = std::from_chars(time.data(), end, number);
  const double unit = rest + 1 != end ? 0 : *rest == 's' ? 1 : *rest == 'm' ? 60 : *rest == 'h' ? 3600 : 0;
  require_input(error == std::errc{} && unit > 0 && number > 0 && std::isfinite(number), "--time ", time,
                " is not a time, expected a number with s, m or h, such as 90s, 5m or 3h");
  return number * unit;
}

}  // namespace dikkat
