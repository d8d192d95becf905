#include "train/web/serve/request_fields.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/text/json_line.h"
#include "train/text/nearest_word.h"
#include "train/web/serve/api_error.h"

namespace dikkat {
namespace {

using nlohmann::json;

enum class Of { both, text, chat };  // endpoints

/// A field that OpenAI's, vLLM's, SGLang's, llama.cpp's or Ollama's servers know.
struct KnownField {
  std::string_view name;
  Of of;
  const char* accepted;        // a JSON list of the values that ask for nothing; null: any value is accepted
  std::string_view instead{};  // what to use in its place
};

constexpr const char* kAny = nullptr;
constexpr const char* kNothing = R"([false, 0, "", [], {}])";
constexpr const char* kFalse = "[false]";
constexpr const char* kTrue = "[true]";
constexpr const char* kZero = "[0]";
constexpr const char* kOne = "[1]";
constexpr const char* kNone = "[]";  // but null

constexpr KnownField kFields[] = {
    // Honoured: api_request.cpp reads them.
    {"model", Of::both, kAny},
    {"prompt", Of::text, kAny},
    {"echo", Of::text, kAny},
    {"messages", Of::chat, kAny},
    {"top_logprobs", Of::chat, kAny},
    {"max_tokens", Of::both, kAny},
    {"max_completion_tokens", Of::both, kAny},
    {"temperature", Of::both, kAny},
    {"top_p", Of::both, kAny},
    {"top_k", Of::both, kAny},
    {"min_p", Of::both, kAny},
    {"repetition_penalty", Of::both, kAny},
    {"seed", Of::both, kAny},
    {"n", Of::both, kAny},
    {"best_of", Of::both, kAny},
    {"stop", Of::both, kAny},
    {"stream", Of::both, kAny},
    {"stream_options", Of::both, kAny},
    {"logprobs", Of::both, kAny},

    // Without an effect on the text: bookkeeping, caches, scheduling, and settings of what is off here.
    {"user", Of::both, kAny},
    {"metadata", Of::both, kAny},
    {"store", Of::both, kAny},
    {"service_tier", Of::both, kAny},
    {"safety_identifier", Of::both, kAny},
    {"prompt_cache_key", Of::both, kAny},
    {"prompt_cache_retention", Of::both, kAny},
    {"parallel_tool_calls", Of::both, kAny},
    {"priority", Of::both, kAny},
    {"request_id", Of::both, kAny},
    {"rid", Of::both, kAny},
    {"cache_salt", Of::both, kAny},
    {"cache_prompt", Of::both, kAny},
    {"n_cache_reuse", Of::both, kAny},
    {"id_slot", Of::both, kAny},
    {"keep_alive", Of::both, kAny},
    {"timings_per_token", Of::both, kAny},
    {"return_progress", Of::both, kAny},
    {"parse_tool_calls", Of::both, kAny},
    {"include_reasoning", Of::both, kAny},
    {"separate_reasoning", Of::both, kAny},
    {"stream_reasoning", Of::both, kAny},
    {"reasoning_format", Of::both, kAny},
    {"guided_decoding_backend", Of::both, kAny},
    {"guided_whitespace_pattern", Of::both, kAny},
    {"min_keep", Of::both, kAny},
    {"dynatemp_exponent", Of::both, kAny},
    {"xtc_threshold", Of::both, kAny},
    {"mirostat_tau", Of::both, kAny},
    {"mirostat_eta", Of::both, kAny},
    {"dry_base", Of::both, kAny},
    {"dry_allowed_length", Of::both, kAny},
    {"dry_penalty_last_n", Of::both, kAny},
    {"dry_sequence_breakers", Of::both, kAny},

    // Would change the text or what comes with it. OpenAI:
    {"tools", Of::both, kNothing},
    {"tool_choice", Of::both, R"(["none", "auto"])"},
    {"functions", Of::both, kNothing},
    {"function_call", Of::both, R"(["none", "auto", {}])"},
    {"logit_bias", Of::both, kNothing},
    {"suffix", Of::both, kNothing},
    {"presence_penalty", Of::both, kZero},
    {"frequency_penalty", Of::both, kZero},
    {"response_format", Of::both, R"([{"type": "text"}])"},
    {"modalities", Of::both, R"([["text"]])"},
    {"audio", Of::both, kNothing},
    {"prediction", Of::both, kNothing},
    {"web_search_options", Of::both, kNone},
    {"reasoning_effort", Of::both, R"(["none"])"},
    {"reasoning", Of::both, kNothing},
    {"verbosity", Of::both, R"(["medium"])"},
    {"echo", Of::chat, kFalse},
    {"top_logprobs", Of::text, kZero, "logprobs"},
    {"input", Of::both, kNone, "prompt or messages"},
    {"instructions", Of::both, kNothing, "a system message"},
    {"max_output_tokens", Of::both, kNone, "max_tokens"},
    // vLLM and SGLang:
    {"continue_final_message", Of::both, kFalse},
    {"add_generation_prompt", Of::both, kTrue},
    {"chat_template", Of::both, kNothing},
    {"chat_template_kwargs", Of::both, kNothing},
    {"documents", Of::both, kNothing},
    {"add_special_tokens", Of::chat, kFalse},
    {"add_special_tokens", Of::text, kTrue},
    {"min_tokens", Of::both, kZero},
    {"min_new_tokens", Of::both, kZero},
    {"max_new_tokens", Of::both, kNone, "max_tokens"},
    {"ignore_eos", Of::both, kFalse},
    {"stop_token_ids", Of::both, kNothing, "stop"},
    {"stop_regex", Of::both, kNothing},
    {"no_stop_trim", Of::both, kFalse},
    {"include_stop_str_in_output", Of::both, kFalse},
    {"bad_words", Of::both, kNothing},
    {"allowed_token_ids", Of::both, kNothing},
    {"logits_processors", Of::both, kNothing},
    {"skip_special_tokens", Of::both, kTrue},
    {"spaces_between_special_tokens", Of::both, kTrue},
    {"detokenize", Of::both, kTrue},
    {"use_beam_search", Of::both, kFalse},
    {"length_penalty", Of::both, kOne},
    {"early_stopping", Of::both, kFalse},
    {"truncate_prompt_tokens", Of::both, kNone},
    {"prompt_logprobs", Of::both, kNothing},
    {"return_token_ids", Of::both, kFalse},
    {"return_tokens_as_token_ids", Of::both, kFalse},
    {"prompt_embeds", Of::both, kNothing},
    {"structured_outputs", Of::both, kNothing},
    {"structural_tag", Of::both, kNothing},
    {"guided_json", Of::both, kNothing},
    {"guided_regex", Of::both, kNothing},
    {"guided_choice", Of::both, kNothing},
    {"guided_grammar", Of::both, kNothing},
    {"regex", Of::both, kNothing},
    {"ebnf", Of::both, kNothing},
    {"thinking_token_budget", Of::both, kNone},
    {"mm_processor_kwargs", Of::both, kNothing},
    {"media_io_kwargs", Of::both, kNothing},
    {"kv_transfer_params", Of::both, kNothing},
    {"vllm_xargs", Of::both, kNothing},
    {"lora_path", Of::both, kNothing},
    // llama.cpp and Ollama:
    {"n_predict", Of::both, kNone, "max_tokens"},
    {"repeat_penalty", Of::both, kOne, "repetition_penalty"},
    {"repeat_last_n", Of::both, "[-1]"},
    {"penalize_nl", Of::both, kNone},
    {"typical_p", Of::both, kOne},
    {"tfs_z", Of::both, kOne},
    {"top_a", Of::both, kZero},
    {"top_n_sigma", Of::both, "[-1, 0]"},
    {"mirostat", Of::both, kZero},
    {"dynatemp_range", Of::both, kZero},
    {"dry_multiplier", Of::both, kZero},
    {"xtc_probability", Of::both, kZero},
    {"samplers", Of::both, kNothing},
    {"grammar", Of::both, kNothing},
    {"grammar_lazy", Of::both, kFalse},
    {"grammar_triggers", Of::both, kNothing},
    {"json_schema", Of::both, kNothing},
    {"n_keep", Of::both, kZero},
    {"n_indent", Of::both, kZero},
    {"n_probs", Of::both, kZero, "logprobs"},
    {"post_sampling_probs", Of::both, kFalse},
    {"return_tokens", Of::both, kFalse},
    {"response_fields", Of::both, kNothing},
    {"t_max_predict_ms", Of::both, "[0, -1]"},
    {"lora", Of::both, kNothing},
    {"image_data", Of::both, kNothing},
    {"input_prefix", Of::both, kNothing},
    {"input_suffix", Of::both, kNothing},
    {"input_extra", Of::both, kNothing},
    {"thinking_forced_open", Of::both, kFalse},
    {"reasoning_budget", Of::both, "[-1]"},
    {"enable_thinking", Of::both, kFalse},
    {"think", Of::both, kFalse},
    {"format", Of::both, kNothing, "response_format"},
    {"options", Of::both, kNothing, "the fields themselves"},
    {"num_predict", Of::both, kNone, "max_tokens"},
    {"num_ctx", Of::both, kNone},
    {"system", Of::both, kNothing, "a system message"},
    {"template", Of::both, kNothing},
    {"raw", Of::both, kFalse},
    {"images", Of::both, kNothing},
};

bool is_of(const KnownField& field, Endpoint endpoint) {
  return field.of == Of::both || (field.of == Of::chat) == (endpoint == Endpoint::chat);
}

/// A value that asks for nothing, as advice: " or set it to 0". Nothing where leaving it out is simpler.
std::string value_to_set(const json& accepted) {
  const bool is_worth_it = !accepted.empty() && accepted.dump() != json::parse(kNothing).dump();
  return is_worth_it ? concat(" or set it to ", accepted.front().dump()) : "";
}

[[noreturn]] void refuse_unknown(const std::string& name, Endpoint endpoint) {
  std::vector<std::string_view> names;
  for (const KnownField& field : kFields) {
    if (is_of(field, endpoint)) {
      names.push_back(field.name);
    }
  }
  const bool is_of_other = std::ranges::any_of(kFields, [&](const KnownField& field) { return field.name == name; });
  const std::string_view meant = nearest_word(names, name);
  throw ApiError(
      400,
      concat(short_text(json(name)), is_of_other ? " is a field of the other endpoint" : " is not a field that this server knows",
             meant.empty() ? "; leave it out" : concat("; did you mean \"", meant, "\"?")),
      name, "unknown_parameter");
}

}  // namespace

std::string found_value(const json& value) {
  if (value.is_array()) {
    return concat("is a list of ", value.size());
  }
  return value.is_object() ? "is an object" : concat("is ", short_text(value));
}

void check_fields(const json& request, Endpoint endpoint) {
  for (const auto& item : request.items()) {
    const std::string& name = item.key();
    const json& value = item.value();
    if (value.is_null()) {
      continue;
    }
    const auto field = std::ranges::find_if(kFields, [&](const KnownField& one) { return one.name == name && is_of(one, endpoint); });
    if (field == std::end(kFields)) {
      refuse_unknown(name, endpoint);
    }
    if (field->accepted == kAny) {
      continue;
    }
    const json accepted = json::parse(field->accepted);
    if (std::ranges::find(accepted, value) == accepted.end()) {
      throw ApiError(400,
                     concat(name, ' ', found_value(value), ", which is not supported: leave it out", value_to_set(accepted),
                            field->instead.empty() ? "" : concat(", and use ", field->instead)),
                     name, "invalid_value");
    }
  }
}

}  // namespace dikkat
