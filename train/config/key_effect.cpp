#include "train/config/key_effect.h"

#include <algorithm>
#include <utility>

#include "autograd/base/error.h"
#include "train/config/accumulation.h"
#include "train/config/resolve.h"
#include "train/config/schema.h"

namespace dikkat {
namespace schema {
namespace {

bool adapts(const Config& c) { return c.lora.rank > 0; }
bool saves_modules(const Config& c) { return adapts(c) && !c.lora.modules_to_save.empty(); }
/// Returns whether a matrix between hidden layers may be trained in full, which Muon can do.
bool trains_matrices(const Config& c) {
  return !adapts(c) || std::ranges::any_of(c.lora.modules_to_save,
                                           [](const std::string& part) { return part != kEmbeddingModule && part != kHeadModule; });
}
/// Returns whether optim.weight_decay applies to anything.
bool has_decay(const Config& c) { return !adapts(c) || c.lora.decay || saves_modules(c); }
bool decays_weights(const Config& c) {
  const bool by_group = std::ranges::any_of(c.optim.groups, [](const ParameterGroup& group) { return group.weight_decay.value_or(0) > 0; });
  return by_group || (c.optim.weight_decay > 0 && has_decay(c));
}
bool ends_decay(const OptimConfig& c) {
  return c.weight_decay_schedule == UpdateSchedule::WeightDecay::linear || c.weight_decay_schedule == UpdateSchedule::WeightDecay::cosine;
}

constexpr Condition kEncoderDecoder{[](const Config& c, const RunFacts&) { return c.model.kind == ModelKind::encoder_decoder; },
                                    "model.kind is \"encoder_decoder\""};
constexpr Condition kGpt{[](const Config& c, const RunFacts&) { return c.model.kind == ModelKind::gpt; }, "model.kind is \"gpt\""};
constexpr Condition kRope{[](const Config& c, const RunFacts&) { return c.model.positions == Positions::rope; },
                          "model.positions is \"rope\""};
constexpr Condition kScaled{[](const Config& c, const RunFacts&) { return c.model.rope_scaling != RopeScaling::none; },
                            "model.rope_scaling is not \"none\""};
constexpr Condition kLlama3{[](const Config& c, const RunFacts&) { return c.model.rope_scaling == RopeScaling::llama3; },
                            "model.rope_scaling is \"llama3\""};
constexpr Condition kHasContext{[](const Config& c, const RunFacts&) {
                                  return c.model.rope_scaling == RopeScaling::llama3 || c.model.rope_scaling == RopeScaling::longrope;
                                },
                                "model.rope_scaling is \"llama3\" or \"longrope\""};
constexpr Condition kLongRope{[](const Config& c, const RunFacts&) { return c.model.rope_scaling == RopeScaling::longrope; },
                              "model.rope_scaling is \"longrope\""};
constexpr Condition kWindowed{[](const Config& c, const RunFacts&) { return c.model.window > 0; }, "model.window is above 0"};
constexpr Condition kQkNorm{[](const Config& c, const RunFacts&) { return c.model.qk_norm; }, "model.qk_norm is true"};

constexpr Condition kNoTokenizer{[](const Config& c, const RunFacts&) { return c.tokenizer.path.empty(); }, "tokenizer.path is not set"};
constexpr Condition kBpe{[](const Config& c, const RunFacts&) { return c.tokenizer.kind == "bpe"; }, "tokenizer.kind is \"bpe\""};
constexpr Condition kWord{[](const Config& c, const RunFacts&) { return c.tokenizer.kind == "word"; }, "tokenizer.kind is \"word\""};

constexpr Condition kUnsplit{[](const Config& c, const RunFacts&) {
                               return std::ranges::any_of(c.data.all_sources(),
                                                          [](const DataSource& source) { return source.validation.empty(); });
                             },
                             "a source has no validation texts (data.validation)"};
constexpr Condition kTexts{[](const Config&, const RunFacts& f) { return f.texts; }, "the corpus holds texts"};
constexpr Condition kStream{[](const Config&, const RunFacts& f) { return f.texts || f.tokens; }, "the corpus holds texts or token files"};
constexpr Condition kIsStream{[](const Config& c, const RunFacts&) { return c.data.pack == Packing::stream; }, "data.pack is \"stream\""};
constexpr Condition kSeveralDocuments{[](const Config&, const RunFacts& f) { return f.several_documents; },
                                      "a text to train on has three documents or more"};
constexpr Condition kJsonl{[](const Config&, const RunFacts& f) { return f.jsonl; },
                           "the corpus has a file of JSON objects (.jsonl) or a table"};
constexpr Condition kSeveralFiles{[](const Config&, const RunFacts& f) { return f.several_files; },
                                  "a source of texts or examples has several files"};
constexpr Condition kHasShare{[](const Config& c, const RunFacts&) { return c.data.val_fraction > 0; }, "data.val_fraction is above 0"};
constexpr Condition kConversations{[](const Config&, const RunFacts& f) { return f.conversations; }, "the corpus holds conversations"};

constexpr Condition kReachesMinLr{[](const Config& c, const RunFacts&) { return ends_at_min_lr(c.optim.schedule); },
                                  "optim.schedule is \"linear\", \"cosine\" or \"wsd\""};
constexpr Condition kHasEnd{
    [](const Config& c, const RunFacts&) {
      return ends_at_min_lr(c.optim.schedule) || (ends_decay(c.optim) && decays_weights(c)) || c.train.quantize != Quantize::none;
    },
    "optim.schedule is \"linear\", \"cosine\" or \"wsd\", optim.weight_decay_schedule is \"linear\" or \"cosine\", or train.quantize is "
    "\"q4\""};
constexpr Condition kWsd{[](const Config& c, const RunFacts&) { return c.optim.schedule == Schedule::Kind::wsd; },
                         "optim.schedule is \"wsd\""};
constexpr Condition kDecays{[](const Config& c, const RunFacts&) { return decays_weights(c); },
                            "there is weight decay (optim.weight_decay)"};
constexpr Condition kDecayReachesWeights{[](const Config& c, const RunFacts&) { return has_decay(c); },
                                         "lora.decay is true or lora.modules_to_save is not empty (this run trains adapters)"};
constexpr Condition kNewRows{[](const Config&, const RunFacts& f) { return f.new_rows; },
                             "the model that the run starts from has new tokens (dikkat tokenizer extend)"};
constexpr Condition kTrainsRows{[](const Config& c, const RunFacts&) {
                                  return !adapts(c) || is_saved(c.lora, "wte.weight", Role::embedding, c.model.tie_embeddings) ||
                                         is_saved(c.lora, "lm_head.weight", Role::head, true);
                                },
                                "lora.rank is 0 or lora.modules_to_save has the embedding or the head"};
constexpr Condition kAdamW{[](const Config& c, const RunFacts&) { return c.optim.kind != OptimizerKind::sgd; },
                           "optim.kind is \"adamw\" or \"muon\""};
constexpr Condition kSgd{[](const Config& c, const RunFacts&) { return c.optim.kind == OptimizerKind::sgd; }, "optim.kind is \"sgd\""};
constexpr Condition kSgdMomentum{[](const Config& c, const RunFacts&) { return c.optim.sgd_momentum > 0; },
                                 "optim.sgd_momentum is above 0"};
constexpr Condition kMuon{[](const Config& c, const RunFacts&) { return c.optim.kind == OptimizerKind::muon; }, "optim.kind is \"muon\""};
constexpr Condition kMatrices{[](const Config& c, const RunFacts&) { return trains_matrices(c); },
                              "lora.rank is 0 or lora.modules_to_save has a pattern (AdamW trains adapters, embedding and head, not Muon)"};
constexpr Condition kOwnOptimizer{
    [](const Config& c, const RunFacts&) { return trains_matrices(c) || c.optim.kind != OptimizerKind::muon; },
    "it is not \"muon\" (AdamW trains adapters)"};
constexpr Condition kMomentumRises{[](const Config& c, const RunFacts&) { return c.optim.muon_momentum_warmup_steps > 0; },
                                   "optim.muon_momentum_warmup_steps is above 0"};
constexpr Condition kMomentumStart{[](const Config& c, const RunFacts&) {
                                     return !c.optim.muon_momentum_start.is_open() && c.optim.muon_momentum_start != c.optim.muon_momentum;
                                   },
                                   "optim.muon_momentum_start differs from optim.muon_momentum"};
constexpr Condition kNorMuon{[](const Config& c, const RunFacts&) { return c.optim.muon_normalize; }, "optim.muon_normalize is true"};

constexpr Condition kBeforeSchedule{[](const Config& c, const RunFacts&) {
                                      const auto& schedule = c.train.accumulation_schedule;
                                      return schedule.empty() || !problem_with_accumulation(c.train).empty() ||
                                             schedule.front().substr(0, 2) != "0:";
                                    },
                                    "train.accumulation_schedule does not begin at step 0"};
constexpr Condition kProcesses{[](const Config&, const RunFacts& f) { return f.processes; },
                               "several processes share the run (mpirun or srun)"};
constexpr Condition kValidates{[](const Config& c, const RunFacts&) {
                                 return c.data.val_fraction > 0 || std::ranges::any_of(c.data.all_sources(), [](const DataSource& source) {
                                          return !source.validation.empty();
                                        });
                               },
                               "there is text to validate on (data.val_fraction or data.validation)"};
constexpr Condition kSamples{[](const Config& c, const RunFacts&) { return !c.train.sample_prompts.empty(); },
                             "train.sample_prompts has prompts"};
constexpr Condition kBf16{[](const Config& c, const RunFacts&) { return c.train.precision != Precision::f32; },
                          "train.precision is \"bf16\""};
constexpr Condition kQuantizes{[](const Config& c, const RunFacts&) { return c.train.quantize != Quantize::none; },
                               "train.quantize is \"q4\""};
constexpr Condition kSkips{[](const Config& c, const RunFacts&) { return c.train.on_nonfinite == OnNonfinite::skip; },
                           "train.on_nonfinite is \"skip\""};
constexpr Condition kRecomputes{[](const Config& c, const RunFacts&) {
                                  return c.train.recompute != Recompute::cheap || !adapts(c) || !is_target(c.lora, "h.0.mlp.c_proj.weight");
                                },
                                "it is not \"cheap\" for adapters of the feed-forward; \"block\" saves memory there too"};
constexpr Condition kAdapters{[](const Config& c, const RunFacts&) { return adapts(c); }, "lora.rank is above 0"};
constexpr Condition kDecay{[](const Config& c, const RunFacts&) { return c.optim.weight_decay > 0; }, "optim.weight_decay is above 0"};

bool has_method(const Config& c, PreferenceMethod method) {
  return c.preference.method == method || c.preference.method == PreferenceMethod::auto_;
}
constexpr Condition kPrefers{[](const Config& c, const RunFacts&) { return c.preference.is_on(); }, "preference.method is not \"none\""};
constexpr Condition kOrdinary{
    [](const Config& c, const RunFacts&) { return !c.preference.is_on() || c.preference.method == PreferenceMethod::auto_; },
    "preference.method is \"none\" (preference tuning switches dropout and train.label_smoothing off)"};
constexpr Condition kDpo{[](const Config& c, const RunFacts&) { return has_method(c, PreferenceMethod::dpo); },
                         "preference.method is \"dpo\""};
constexpr Condition kSimpo{[](const Config& c, const RunFacts&) { return c.preference.method == PreferenceMethod::simpo; },
                           "preference.method is \"simpo\""};
constexpr Condition kKto{[](const Config& c, const RunFacts&) { return has_method(c, PreferenceMethod::kto); },
                         "preference.method is \"kto\""};
constexpr Condition kNotOrpo{[](const Config& c, const RunFacts&) { return c.preference.method != PreferenceMethod::orpo; },
                             "preference.method is not \"orpo\", whose loss has this part anyway"};

constexpr Condition kClassifies{[](const Config& c, const RunFacts&) { return c.classify.is_on(); }, "classify.field is given"};
constexpr Condition kEmbeds{[](const Config& c, const RunFacts&) { return c.embedding.is_on(); },
                            "embedding.batch is above 0 (dikkat finetune --objective embedding)"};
constexpr Condition kPredicts{[](const Config& c, const RunFacts&) { return !c.classify.is_on() && !c.embedding.is_on(); },
                              "the run predicts tokens, instead of learning labels (classify.field) or vectors (embedding.batch)"};

constexpr Condition kDistills{[](const Config& c, const RunFacts&) { return c.distill.is_on(); }, "distill.file is given"};

template <const Condition&... conditions>
constexpr Condition kAll[] = {conditions...};

template <const Condition&... conditions>
constexpr EffectRule only_if(std::string_view key) {
  return {key, kAll<conditions...>};
}

// The only table of keys that do not always have an effect: those for which in some run no value changes anything.
// tests/train/run/effect_test.cpp runs each row without an effect, and compares bits.
constexpr EffectRule kRules[] = {
    only_if<kOrdinary>("model.dropout"),
    only_if<kEncoderDecoder>("model.n_encoder_layer"),
    only_if<kEncoderDecoder>("model.share_embeddings"),
    only_if<kRope>("model.rope_theta"),
    only_if<kRope>("model.rope_scaling"),
    only_if<kRope, kScaled>("model.rope_factor"),
    only_if<kRope, kLlama3>("model.rope_low_freq_factor"),
    only_if<kRope, kLlama3>("model.rope_high_freq_factor"),
    only_if<kRope, kHasContext>("model.rope_original_context"),
    only_if<kRope, kWindowed>("model.rope_theta_local"),
    only_if<kRope>("model.rope_share"),
    only_if<kRope>("model.rope_short_factors"),
    only_if<kRope, kLongRope>("model.rope_long_factors"),
    only_if<kRope>("model.rope_amplitude"),
    only_if<kRope>("model.rope_pattern"),
    only_if<kWindowed>("model.window_pattern"),
    only_if<kQkNorm>("model.qk_norm_over"),

    only_if<kNoTokenizer>("tokenizer.kind"),
    only_if<kNoTokenizer, kBpe>("tokenizer.vocab_size"),
    only_if<kNoTokenizer, kBpe>("tokenizer.splitter"),
    only_if<kNoTokenizer, kWord>("tokenizer.min_count"),

    only_if<kUnsplit>("data.val_fraction"),
    only_if<kUnsplit, kHasShare, kSeveralFiles>("data.split"),
    only_if<kGpt>("data.window"),
    only_if<kJsonl>("data.text_field"),
    only_if<kStream>("data.pack"),
    only_if<kStream, kIsStream, kSeveralDocuments>("data.order"),
    only_if<kTexts>("data.invalid_utf8"),
    only_if<kTexts>("data.cache"),

    only_if<kOwnOptimizer>("optim.kind"),
    only_if<kReachesMinLr>("optim.min_lr"),
    only_if<kReachesMinLr>("optim.min_lr_share"),
    only_if<kHasEnd>("optim.decay_steps"),
    only_if<kWsd>("optim.decay_share"),
    only_if<kWsd>("optim.decay_form"),
    only_if<kDecayReachesWeights>("optim.weight_decay"),
    only_if<kDecays>("optim.weight_decay_schedule"),
    only_if<kAdamW, kDecays>("optim.cautious_decay"),
    only_if<kAdamW>("optim.beta1"),
    only_if<kAdamW>("optim.beta2"),
    only_if<kAdamW>("optim.eps"),
    only_if<kMuon, kMatrices>("optim.muon_momentum"),
    only_if<kMuon, kMatrices, kMomentumRises>("optim.muon_momentum_start"),
    only_if<kMuon, kMatrices, kMomentumStart>("optim.muon_momentum_warmup_steps"),
    only_if<kMuon, kMatrices, kReachesMinLr>("optim.muon_momentum_end"),
    only_if<kMuon, kMatrices>("optim.muon_coefficients"),
    only_if<kMuon, kMatrices>("optim.muon_steps"),
    only_if<kMuon, kMatrices>("optim.muon_precision"),
    only_if<kMuon, kMatrices>("optim.muon_normalize"),
    only_if<kMuon, kMatrices, kNorMuon>("optim.muon_beta2"),
    only_if<kNewRows, kTrainsRows>("optim.new_rows_lr_scale"),
    only_if<kNewRows, kTrainsRows>("optim.old_rows_lr_scale"),
    only_if<kSgd>("optim.sgd_momentum"),
    only_if<kSgd, kSgdMomentum>("optim.sgd_nesterov"),

    only_if<kOrdinary, kPredicts>("train.label_smoothing"),
    only_if<kBeforeSchedule>("train.gradient_accumulation_steps"),
    only_if<kProcesses>("train.rank_timeout"),
    only_if<kValidates>("train.eval_interval"),
    only_if<kValidates>("train.eval_tokens"),
    only_if<kValidates>("train.patience"),
    only_if<kValidates>("train.sample_prompts"),
    only_if<kValidates, kSamples>("train.sample_tokens"),
    only_if<kRecomputes>("train.recompute"),
    only_if<kBf16>("train.emulate_bf16"),
    only_if<kQuantizes>("train.quantize_share"),
    only_if<kSkips>("train.max_skipped"),

    only_if<kAdapters>("lora.alpha"),
    only_if<kAdapters, kOrdinary>("lora.dropout"),
    only_if<kAdapters, kDecay>("lora.decay"),
    only_if<kAdapters>("lora.rank_stabilized"),
    only_if<kAdapters>("lora.targets"),
    only_if<kAdapters>("lora.modules_to_save"),
    only_if<kAdapters>("lora.base"),

    only_if<kConversations>("chat.loss"),
    only_if<kConversations>("chat.eval_loss"),

    only_if<kPrefers>("preference.beta"),
    only_if<kSimpo>("preference.gamma"),
    only_if<kDpo>("preference.label_smoothing"),
    only_if<kKto>("preference.good_weight"),
    only_if<kKto>("preference.bad_weight"),
    only_if<kPrefers, kNotOrpo>("preference.sft_share"),

    only_if<kClassifies>("classify.weights"),

    only_if<kDistills>("distill.share"),
    only_if<kDistills>("distill.temperature"),

    only_if<kEmbeds>("embedding.pooling"),
    only_if<kEmbeds>("embedding.temperature"),
};

const EffectRule* rule_of(std::string_view path) {
  const auto found = std::ranges::find(kRules, path, &EffectRule::key);
  return found == std::end(kRules) ? nullptr : &*found;
}

/// Returns the conditions of a rule that do not hold, joined by "and"; empty if all hold.
std::string lacks(const EffectRule* rule, const PlannedRun& run) {
  std::string text;
  for (const Condition& condition : rule == nullptr ? std::span<const Condition>() : rule->conditions) {
    if (!condition.holds(run.config, run.facts)) {
      append_to(text, concat(text.empty() ? "" : " and ", condition.text));
    }
  }
  return text;
}

}  // namespace

std::span<const EffectRule> effect_rules() { return kRules; }

bool has_effect(const Key& key, const Config& config, const RunFacts& facts) {
  const EffectRule* rule = rule_of(key.path());
  return rule == nullptr ||
         std::ranges::all_of(rule->conditions, [&](const Condition& condition) { return condition.holds(config, facts); });
}

}  // namespace schema

std::vector<std::string> keys_without_effect(std::span<const PlannedRun> runs, std::span<const std::string> keys) {
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    const bool is_new = std::ranges::find(found, key) == found.end();
    if (is_new && std::ranges::none_of(runs, [&](const PlannedRun& run) { return schema::lacks(schema::rule_of(key), run).empty(); })) {
      found.push_back(key);
    }
  }
  return found;
}

std::vector<std::string> explain_without_effect(const PlannedRun& run, std::span<const std::string> keys) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const std::string& key : keys) {
    const std::string reason = schema::lacks(schema::rule_of(key), run);
    auto there = std::ranges::find(by_reason, reason, &std::pair<std::string, std::vector<std::string>>::first);
    if (there == by_reason.end()) {
      there = by_reason.insert(there, {reason, {}});
    }
    there->second.push_back(key);
  }
  std::vector<std::string> sentences;
  for (const auto& [reason, together] : by_reason) {
    std::string list;
    for (std::size_t i = 0; i < together.size(); ++i) {
      append_to(list, concat(i == 0 ? "" : i + 1 < together.size() ? ", " : " and ", together[i]));
    }
    const bool is_one = together.size() == 1;
    sentences.push_back(
        concat(list, is_one ? " has no effect here: it counts only if " : " have no effect here: they count only if ", reason));
  }
  return sentences;
}

Config effective(const PlannedRun& run) {
  static const Config defaults = [] {
    Config config;
    resolve(config);
    return config;
  }();
  Config config = run.config;
  for (const schema::Key& key : schema::keys()) {
    if (const schema::Value value = key.get(defaults); !schema::has_effect(key, run.config, run.facts) && value.index() != 0) {
      key.set(config, value);
    }
  }
  return config;
}

}  // namespace dikkat
