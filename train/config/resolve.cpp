#include "train/config/resolve.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/config/accumulation.h"
#include "train/config/problems.h"
#include "train/config/schema.h"
#include "train/config/tables.h"
#include "train/system/calendar_date.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

/// Returns the divisor of `whole` that is nearest to `to`, below it (step -1) or above it (step 1).
index next_divisor(index whole, index to, index step) {
  index divisor = to + step;
  while (divisor > 0 && divisor < whole && whole % divisor != 0) {
    divisor += step;
  }
  return divisor;
}

/// Returns "384 or 390". Leaves out `first` if it is 0, and `second` if it is above `highest`.
std::string either(index first, index second, index highest) {
  const std::string low = first > 0 ? concat(first) : "";
  const std::string high = second <= highest ? concat(second) : "";
  return concat(low, low.empty() || high.empty() ? "" : " or ", high);
}

void check_groups(const TransformerConfig& model, schema::Problems& problems) {
  if (model.n_kv_head.is_open()) {
    return;
  }
  const index heads = model.n_head;
  const index of_keys = model.n_kv_head;
  if (heads % of_keys != 0) {
    problems.add(concat("model.n_kv_head is ", of_keys, ", which does not divide model.n_head = ", heads,
                        ": each key head serves the same number of query heads; the nearest values that work: ",
                        either(of_keys > heads ? heads : next_divisor(heads, of_keys, -1), next_divisor(heads, of_keys, 1), heads)));
  }
}

void check_rope(const TransformerConfig& model, schema::Problems& problems) {
  if (model.positions != Positions::rope) {
    return;
  }
  // Check the size of heads and the factors of Llama 3.
  const bool divides = model.n_embd % model.n_head == 0;  // otherwise check_heads() reports it
  const index size = model.head_size.is_set() ? *model.head_size : model.n_embd / model.n_head;
  if (size % 2 != 0 && (model.head_size.is_set() || divides)) {
    const std::string origin = concat(" (model.n_embd = ", model.n_embd, " / model.n_head = ", model.n_head, ")");
    problems.add(concat("model.head_size is ", size, model.head_size.is_set() ? "" : origin,
                        ", expected an even number with model.positions = \"rope\": numbers are rotated in pairs"));
  }
  if (model.rope_scaling == RopeScaling::llama3 && model.rope_low_freq_factor >= model.rope_high_freq_factor) {
    problems.add(concat("model.rope_low_freq_factor is ", schema::to_toml(model.rope_low_freq_factor),
                        ", expected less than model.rope_high_freq_factor = ", schema::to_toml(model.rope_high_freq_factor)));
  }
  // Lists have one number for each pair, and LongRoPE ends with the original context.
  const index pairs = rotated_size(with_defaults(model)) / 2;
  const auto check_factors = [&](const char* key, const std::vector<double>& factors) {
    if (!factors.empty() && std::ssize(factors) != pairs && size % 2 == 0) {
      problems.add(concat(key, " has ", factors.size(), " numbers, expected ", pairs,
                          ", one for each pair that rotates: model.rope_share = ", schema::to_toml(model.rope_share), " of half a head of ",
                          size));
    }
  };
  check_factors("model.rope_short_factors", model.rope_short_factors);
  check_factors("model.rope_long_factors", model.rope_long_factors);
  if (model.rope_scaling == RopeScaling::longrope && model.block_size > model.rope_original_context) {
    problems.add(concat("model.block_size is ", model.block_size,
                        ", expected at most model.rope_original_context = ", model.rope_original_context,
                        " with model.rope_scaling = \"longrope\": longer texts would need its long factors, "
                        "which dikkat does not use"));
  }
}

void check_attention_window(const TransformerConfig& model, schema::Problems& problems) {
  if (model.window > 0 && model.kind == ModelKind::encoder_decoder) {
    problems.add(
        concat("model.window is ", model.window, ", expected 0 with model.kind = \"encoder_decoder\": an encoder sees all tokens"));
  }
}

void check_heads(const TransformerConfig& model, schema::Problems& problems) {
  if (model.n_head < 1 || model.n_embd < 1 || model.head_size.is_set() || model.n_embd % model.n_head == 0) {
    return;
  }
  const index below = model.n_embd / model.n_head * model.n_head;
  const std::string widths = either(below, below + model.n_head, model.n_embd + model.n_head);
  const std::string heads = either(model.n_head > model.n_embd ? model.n_embd : next_divisor(model.n_embd, model.n_head, -1),
                                   next_divisor(model.n_embd, model.n_head, 1), model.n_embd);
  problems.add(concat(
      "model.n_embd is ", model.n_embd, ", which model.n_head = ", model.n_head,
      " does not divide: heads share the width evenly, unless model.head_size is given; the nearest values that work: n_embd = ", widths,
      ", or n_head = ", heads));
}

void check_head(const TransformerConfig& model, schema::Problems& problems) {
  if (model.zero_head && model.tie_embeddings) {
    problems.add(
        "model.zero_head is true, expected false or model.tie_embeddings = false: a tied head is the token embedding, which does not start "
        "at 0");
  }
}

void check_lora(const Config& config, schema::Problems& problems) {
  if (config.lora.rank > 0 && config.lora.targets.empty()) {
    problems.add("lora.targets is empty, expected \"attention\", \"feed_forward\", \"all\", or patterns");
  }
  if (config.lora.rank > 0 && config.train.quantize != Quantize::none) {
    problems.add(
        "train.quantize is \"q4\", but the run trains adapters (lora.rank), which are merged before they are rounded; set "
        "train.quantize = \"none\", or merge the adapters and train the merged model (train.init_from)");
  }
}

void check_tokenizer(const Config& config, schema::Problems& problems) {
  if (config.model.kind == ModelKind::encoder_decoder && config.tokenizer.path.empty() && config.tokenizer.kind != "word") {
    problems.add(concat("tokenizer.kind is \"", config.tokenizer.kind,
                        "\", expected \"word\": model.kind = \"encoder_decoder\" needs tokens for start, end and padding"));
  }
}

void check_sources(const Config& config, schema::Problems& problems) {
  const DataConfig& data = config.data;
  if (!data.sources.empty() && (!data.corpus.empty() || !data.validation.empty())) {
    problems.add(
        concat("data.sources is given together with ", data.corpus.empty() ? "data.validation" : "data.corpus (--corpus)",
               ", expected one of them: give each text to train on as a source, and texts that are only evaluated as data.evaluations"));
  }
  if (config.model.kind == ModelKind::encoder_decoder && !(data.sources.empty() && data.evaluations.empty())) {
    problems.add("data.sources and data.evaluations are for texts, but an encoder-decoder reads pairs: give them as data.corpus");
  }
  // Require different names.
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view list, std::string_view name) {
    if (std::ranges::find(names, name) != names.end()) {
      problems.add(
          concat(list, " has the name ", schema::in_quotes(name), " a second time, expected a different name for each source and text"));
    }
    names.push_back(name);
  };
  double sum = 0;
  for (const DataSource& source : data.sources) {
    add("data.sources", source.name);
    sum += source.weight;
  }
  for (const EvaluationSource& text : data.evaluations) {
    add("data.evaluations", text.name);
  }
  // Require weights that can be drawn.
  constexpr double kLeast = 1e-5;
  for (const DataSource& source : data.sources) {
    if (source.weight < kLeast * sum) {
      problems.add(concat("data.sources.weight is ", schema::to_toml(source.weight), " for ", schema::in_quotes(source.name),
                          ", expected at least ", schema::to_toml(kLeast), " of the sum of all weights, ", schema::to_toml(sum)));
    }
  }
}

void check_window(const Config& config, schema::Problems& problems) {
  if (!config.data.window.is_open() && config.data.window > config.model.block_size && config.model.kind == ModelKind::gpt) {
    problems.add(concat("data.window is ", *config.data.window, ", expected at most model.block_size = ", config.model.block_size,
                        ", the model's context"));
  }
}

void check_rates(const OptimConfig& optim, schema::Problems& problems) {
  if (ends_at_min_lr(optim.schedule) && !optim.min_lr.is_open() && optim.min_lr > optim.learning_rate) {
    problems.add(concat("optim.min_lr is ", schema::to_toml(double{optim.min_lr}), ", expected at most optim.learning_rate = ",
                        schema::to_toml(optim.learning_rate), ": the rate falls from learning_rate to min_lr"));
  }
  if (optim.min_lr.is_set() && optim.min_lr_share.is_set()) {
    problems.add(concat("optim.min_lr is ", schema::to_toml(double{optim.min_lr}), " and optim.min_lr_share is ",
                        schema::to_toml(double{optim.min_lr_share}), ", expected only one of them: leave out the other"));
  }
  if (optim.schedule == Schedule::Kind::inverse_sqrt && optim.warmup_steps == 0) {
    problems.add(
        "optim.warmup_steps is 0, expected 1 or more with optim.schedule = \"inverse_sqrt\": the rate falls as 1 / sqrt(step) from the end "
        "of the warm-up");
  }
}

void check_muon(const OptimConfig& optim, schema::Problems& problems) {
  const index most = most_steps(optim.muon_coefficients);
  if (optim.kind == OptimizerKind::muon && !optim.muon_steps.is_open() && optim.muon_steps > most) {
    problems.add(concat("optim.muon_steps is ", index{optim.muon_steps}, ", expected at most ", most, ": optim.muon_coefficients = \"",
                        name_of(optim.muon_coefficients), "\" has no polynomials for more steps; \"jordan\" has one for all steps"));
  }
}

void check_chat(const ChatConfig& chat, schema::Problems& problems) {
  if (!chat.date.empty()) {
    try {
      CalendarDate::parse(chat.date);
    } catch (const InputError& error) {
      problems.add(concat("chat.date ", error.what()));
    }
  }
  const auto variables = chat.variables.empty() ? std::nullopt : try_json(chat.variables, kConfigLimits);
  if (!chat.variables.empty() && (!variables || !variables->is_object())) {
    problems.add(concat("chat.variables is ", chat.variables, ", expected a JSON object such as {\"enable_thinking\": false}"));
  }
}

void check_preference(const Config& config, schema::Problems& problems) {
  if (!config.preference.is_on() || config.preference.method == PreferenceMethod::auto_) {
    return;
  }
  const auto refuse = [&](const std::string& what) {
    problems.add(concat("preference.method is \"", name_of(config.preference.method), "\", ", what));
  };
  if (config.model.kind == ModelKind::encoder_decoder) {
    refuse("expected \"none\" with model.kind = \"encoder_decoder\": preferences are learned by GPT models");
  }
  if (!config.data.sources.empty()) {
    refuse(
        "expected \"none\" with data.sources (--replay): preferences are not mixed with other texts; preference.sft_share keeps more "
        "of the model, and data.evaluations (--evaluate) shows what it forgets");
  }
}

void check_classify(const Config& config, schema::Problems& problems) {
  const ClassifyConfig& classify = config.classify;
  if (!classify.is_on()) {
    const bool has_several = classify.several.is_set() && classify.several;
    if (!classify.labels.empty() || has_several || config.model.classes > 0) {
      problems.add(concat("classify.field is empty, expected the column or key with the label of a text (--labels), because ",
                          config.model.classes > 0 ? concat("the model is a classifier (model.classes = ", config.model.classes,
                                                            "), which does not predict text")
                                                   : concat("classify.", has_several ? "several" : "labels", " is given")));
    }
    return;
  }
  const auto refuse = [&](const std::string& what) { problems.add(concat("classify.field is \"", classify.field, "\", ", what)); };
  if (std::ssize(classify.labels) != config.model.classes) {
    refuse(concat("and classify.labels has ", classify.labels.size(), " labels, expected model.classes = ", config.model.classes));
  }
  if (config.model.kind == ModelKind::encoder_decoder) {
    refuse("expected none with model.kind = \"encoder_decoder\": labels are learned by GPT models");
  }
  if (config.preference.is_on() && config.preference.method != PreferenceMethod::auto_) {
    refuse(concat("expected none with preference.method = \"", name_of(config.preference.method), "\": a run learns one of them"));
  }
  if (config.embedding.is_on()) {
    refuse("expected none with embedding.batch: a run learns labels or vectors");
  }
  if (config.distill.is_on()) {
    refuse("expected none with distill.file: a teacher predicts tokens, not labels");
  }
  if (!config.data.sources.empty() || !config.data.evaluations.empty()) {
    refuse("expected none with data.sources (--replay) or data.evaluations (--evaluate): labels are learned from one text");
  }
  if (!config.train.sample_prompts.empty()) {
    refuse("expected none with train.sample_prompts: a classifier does not continue texts");
  }
}

void check_distill(const Config& config, schema::Problems& problems) {
  if (!config.distill.is_on()) {
    return;
  }
  const auto refuse = [&](const std::string& what) { problems.add(concat("distill.file is \"", config.distill.file, "\", ", what)); };
  if (config.model.kind == ModelKind::encoder_decoder) {
    refuse("expected none with model.kind = \"encoder_decoder\": distillation is for GPT models");
  }
  if (config.preference.is_on() && config.preference.method != PreferenceMethod::auto_) {
    refuse(concat("expected none with preference.method = \"", name_of(config.preference.method),
                  "\": set preference.method to \"none\", or leave distill.file out"));
  }
  if (!config.data.sources.empty()) {
    refuse("expected none with data.sources (--replay): a teacher file belongs to one text");
  }
  if (config.train.label_smoothing > 0) {
    refuse(concat("expected none with train.label_smoothing = ", config.train.label_smoothing, ": set it to 0, as the teacher smooths"));
  }
}

void check_embedding(const Config& config, schema::Problems& problems) {
  const index batch = config.embedding.batch;
  if (batch == 0) {
    return;
  }
  const auto refuse = [&](const std::string& what) { problems.add(concat("embedding.batch is ", batch, ", ", what)); };
  if (config.model.kind == ModelKind::encoder_decoder) {
    refuse("expected 0 with model.kind = \"encoder_decoder\": vectors are made by GPT models");
  }
  if (config.preference.is_on() || config.distill.is_on()) {
    refuse("expected 0 with preference.method or distill.file: a run has one goal");
  }
  if (!config.data.sources.empty()) {
    refuse("expected 0 with data.sources (--replay): pairs of texts are not mixed with other texts");
  }
  if (!config.train.sample_prompts.empty()) {
    refuse("expected 0 with train.sample_prompts: a model that learns vectors does not learn to continue texts");
  }
  if (!config.train.accumulation_schedule.empty()) {
    refuse("expected 0 with train.accumulation_schedule: all steps have the same number of pairs");
  }
  const index rows = config.train.batch_size * config.train.gradient_accumulation_steps;
  if (batch < 2 || batch % rows != 0) {
    refuse(
        concat("expected 2 or more, and a multiple of the rows of a step, train.batch_size * train.gradient_accumulation_steps = ", rows));
  }
}

void check_token_count(const Config& config, schema::Problems& problems) {
  const std::string unread = problem_with_accumulation(config.train);
  if (!unread.empty()) {
    problems.add(unread);
    return;
  }
  if (!config.train.lanes.is_open()) {
    problems.add_if_any(problem_with_lanes(config.train));
  }
  index tokens = config.train.batch_size;
  bool too_many = false;
  for (const index factor : {Accumulation(config.train).most(),
                             config.data.window.is_open() ? config.model.block_size : *config.data.window, config.train.max_steps}) {
    too_many = __builtin_mul_overflow(tokens, factor, &tokens) || too_many;
  }
  if (too_many) {
    problems.add(
        "train.batch_size * train.gradient_accumulation_steps * model.block_size * train.max_steps are more tokens than 64 bits can count; "
        "make one of them smaller");
  }
}

}  // namespace

void resolve(Config& config) {
  config.model = with_defaults(config.model);
  config.data.window.derive(config.model.block_size);
  config.lora = with_defaults(config.lora);
  OptimConfig& optim = config.optim;
  optim.min_lr_share.derive(optim.min_lr.is_set() ? std::min(1.0, optim.min_lr / optim.learning_rate) : 0.1);
  optim.min_lr.derive(optim.learning_rate / (1 / optim.min_lr_share));         // for 0.1, has the same bits as learning_rate / 10
  if (optim.decay_steps.is_open() || optim.schedule == Schedule::Kind::wsd) {  // a run that is extended keeps the other schedules
    optim.decay_steps.derive(config.train.max_steps);
  }
  if (config.train.lanes.is_open()) {  // a run that continues keeps its lanes
    config.train.lanes.derive(1);
  }
  config.chat.eval_loss.derive(config.chat.loss);
  config.preference.beta.derive(config.preference.method == PreferenceMethod::simpo ? 2.0 : 0.1);
  config.preference.gamma.derive(config.preference.beta / 2);
  if (!config.classify.is_on() || !config.classify.labels.empty()) {  // otherwise the texts of a new run decide
    config.classify.several.derive(false);
  }
  optim.muon_momentum_start.derive(optim.muon_momentum);
  optim.muon_momentum_end.derive(optim.muon_momentum);
  optim.muon_steps.derive(usual_steps(optim.muon_coefficients));
}

void validate(const Config& config) {
  // Check every value separately.
  schema::Problems problems;
  for (const schema::Key& key : schema::keys()) {
    if (const std::string problem = key.problem_with(key.get(config)); !problem.empty()) {
      problems.add(problem);
    }
  }
  for (const schema::Table& list : schema::tables()) {
    for (std::size_t item = 0; item < list.size(config); ++item) {
      for (const schema::TableKey& key : list.keys) {
        problems.add_if_any(key.problem_with(key.get(config, item)));
      }
      problems.add_if_any(list.problem(config, item));
    }
  }
  problems.throw_if_any();
  // Check whether the values fit together.
  check_heads(config.model, problems);
  check_groups(config.model, problems);
  check_rope(config.model, problems);
  check_attention_window(config.model, problems);
  check_head(config.model, problems);
  check_lora(config, problems);
  check_tokenizer(config, problems);
  check_sources(config, problems);
  check_window(config, problems);
  check_rates(config.optim, problems);
  check_muon(config.optim, problems);
  check_token_count(config, problems);
  check_chat(config.chat, problems);
  check_preference(config, problems);
  check_classify(config, problems);
  check_distill(config, problems);
  check_embedding(config, problems);
  if (config.model.kind == ModelKind::encoder_decoder && !config.data.validation.empty()) {
    problems.add(
        "data.validation is given, but the corpus holds pairs, for which it is not supported; set data.val_fraction to validate on a share "
        "of the pairs");
  }
  problems.throw_if_any();
}

}  // namespace dikkat
