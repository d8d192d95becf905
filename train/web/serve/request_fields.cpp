#include "train/web/serve/request_fields.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/system/json.h"
#include "train/system/nearest_word.h"
#include "train/web/serve/api_error.h"

namespace dikkat::serve {
namespace {

using nlohmann::json;

enum class Endpoints { both, text, chat };

/// A field that the servers of OpenAI, vLLM, SGLang, llama.cpp or Ollama accept.
struct KnownField {
  std::string_view name;
  Endpoints endpoints;
  const char* accepted;        // a JSON list of the values that have no effect; null: any value is accepted
  std::string_view instead{};  // the field to use in its place
};

constexpr const char* kAny = nullptr;
constexpr const char* kNothing = R"([false, 0, "", [], {}])";
constexpr const char* kFalse = "[false]";
constexpr const char* kTrue = "[true]";
constexpr const char* kZero = "[0]";
constexpr const char* kOne = "[1]";
constexpr const char* kNone = "[]";  // only null is accepted

constexpr KnownField kFields[] = {
    // Honored fields, which api_request.cpp reads.
    {"model", Endpoints::both, kAny},
    {"prompt", Endpoints::text, kAny},
    {"echo", Endpoints::text, kAny},
    {"parse_special", Endpoints::text, kAny},
    {"messages", Endpoints::chat, kAny},
    {"top_logprobs", Endpoints::chat, kAny},
    {"tools", Endpoints::chat, kAny},
    {"tool_choice", Endpoints::chat, kAny},
    {"parallel_tool_calls", Endpoints::chat, kAny},
    {"chat_template_kwargs", Endpoints::chat, kAny},
    {"enable_thinking", Endpoints::chat, kAny},
    {"think", Endpoints::chat, kAny},
    {"reasoning_effort", Endpoints::chat, kAny},
    {"reasoning_format", Endpoints::chat, kAny},
    {"separate_reasoning", Endpoints::chat, kAny},
    {"include_reasoning", Endpoints::chat, kAny},
    {"response_format", Endpoints::both, kAny},
    {"regex", Endpoints::both, kAny},
    {"json_schema", Endpoints::both, kAny},
    {"guided_json", Endpoints::both, kAny},
    {"guided_regex", Endpoints::both, kAny},
    {"guided_choice", Endpoints::both, kAny},
    {"structured_outputs", Endpoints::both, kAny},
    {"max_tokens", Endpoints::both, kAny},
    {"max_completion_tokens", Endpoints::both, kAny},
    {"temperature", Endpoints::both, kAny},
    {"top_p", Endpoints::both, kAny},
    {"top_k", Endpoints::both, kAny},
    {"min_p", Endpoints::both, kAny},
    {"repetition_penalty", Endpoints::both, kAny},
    {"presence_penalty", Endpoints::both, kAny},
    {"frequency_penalty", Endpoints::both, kAny},
    {"logit_bias", Endpoints::both, kAny},
    {"seed", Endpoints::both, kAny},
    {"n", Endpoints::both, kAny},
    {"best_of", Endpoints::both, kAny},
    {"stop", Endpoints::both, kAny},
    {"stream", Endpoints::both, kAny},
    {"stream_options", Endpoints::both, kAny},
    {"timings_per_token", Endpoints::both, kAny},
    {"logprobs", Endpoints::both, kAny},

    // Fields without an effect on the text: bookkeeping, caches, scheduling, and settings of features that are off here.
    {"user", Endpoints::both, kAny},
    {"metadata", Endpoints::both, kAny},
    {"store", Endpoints::both, kAny},
    {"service_tier", Endpoints::both, kAny},
    {"safety_identifier", Endpoints::both, kAny},
    {"prompt_cache_key", Endpoints::both, kAny},
    {"prompt_cache_retention", Endpoints::both, kAny},
    {"parallel_tool_calls", Endpoints::text, kAny},
    {"priority", Endpoints::both, kAny},
    {"request_id", Endpoints::both, kAny},
    {"rid", Endpoints::both, kAny},
    {"cache_salt", Endpoints::both, kAny},
    {"cache_prompt", Endpoints::both, kAny},
    {"n_cache_reuse", Endpoints::both, kAny},
    {"id_slot", Endpoints::both, kAny},
    {"keep_alive", Endpoints::both, kAny},
    {"return_progress", Endpoints::both, kAny},
    {"include_reasoning", Endpoints::text, kAny},
    {"separate_reasoning", Endpoints::text, kAny},
    {"stream_reasoning", Endpoints::both, kAny},
    {"reasoning_format", Endpoints::text, kAny},
    {"guided_decoding_backend", Endpoints::both, kAny},
    {"guided_whitespace_pattern", Endpoints::both, kAny},
    {"min_keep", Endpoints::both, kAny},
    {"dynatemp_exponent", Endpoints::both, kAny},
    {"xtc_threshold", Endpoints::both, kAny},
    {"mirostat_tau", Endpoints::both, kAny},
    {"mirostat_eta", Endpoints::both, kAny},
    {"dry_base", Endpoints::both, kAny},
    {"dry_allowed_length", Endpoints::both, kAny},
    {"dry_penalty_last_n", Endpoints::both, kAny},
    {"dry_sequence_breakers", Endpoints::both, kAny},

    // Fields that would change the text or the rest of the response. OpenAI:
    {"tools", Endpoints::text, kNothing},
    {"tool_choice", Endpoints::text, R"(["none", "auto"])"},
    {"parse_tool_calls", Endpoints::both, kTrue},
    {"functions", Endpoints::both, kNothing},
    {"function_call", Endpoints::both, R"(["none", "auto", {}])"},
    {"suffix", Endpoints::both, kNothing},
    {"modalities", Endpoints::both, R"([["text"]])"},
    {"audio", Endpoints::both, kNothing},
    {"prediction", Endpoints::both, kNothing},
    {"web_search_options", Endpoints::both, kNone},
    {"reasoning_effort", Endpoints::text, R"(["none"])"},
    {"reasoning", Endpoints::both, kNothing},
    {"verbosity", Endpoints::both, R"(["medium"])"},
    {"echo", Endpoints::chat, kFalse},
    {"top_logprobs", Endpoints::text, kZero, "logprobs"},
    {"input", Endpoints::both, kNone, "prompt or messages"},
    {"instructions", Endpoints::both, kNothing, "a system message"},
    {"max_output_tokens", Endpoints::both, kNone, "max_tokens"},
    // vLLM and SGLang:
    {"continue_final_message", Endpoints::both, kFalse},
    {"add_generation_prompt", Endpoints::both, kTrue},
    {"chat_template", Endpoints::both, kNothing},
    {"chat_template_kwargs", Endpoints::text, kNothing},
    {"documents", Endpoints::both, kNothing},
    {"add_special_tokens", Endpoints::chat, kFalse},
    {"add_special_tokens", Endpoints::text, kTrue},
    {"min_tokens", Endpoints::both, kZero},
    {"min_new_tokens", Endpoints::both, kZero},
    {"max_new_tokens", Endpoints::both, kNone, "max_tokens"},
    {"ignore_eos", Endpoints::both, kFalse},
    {"stop_token_ids", Endpoints::both, kNothing, "stop"},
    {"stop_regex", Endpoints::both, kNothing},
    {"no_stop_trim", Endpoints::both, kFalse},
    {"include_stop_str_in_output", Endpoints::both, kFalse},
    {"bad_words", Endpoints::both, kNothing},
    {"allowed_token_ids", Endpoints::both, kNothing},
    {"logits_processors", Endpoints::both, kNothing},
    {"skip_special_tokens", Endpoints::both, kTrue},
    {"spaces_between_special_tokens", Endpoints::both, kTrue},
    {"detokenize", Endpoints::both, kTrue},
    {"use_beam_search", Endpoints::both, kFalse},
    {"length_penalty", Endpoints::both, kOne},
    {"early_stopping", Endpoints::both, kFalse},
    {"truncate_prompt_tokens", Endpoints::both, kNone},
    {"prompt_logprobs", Endpoints::both, kNothing},
    {"return_token_ids", Endpoints::both, kFalse},
    {"return_tokens_as_token_ids", Endpoints::both, kFalse},
    {"prompt_embeds", Endpoints::both, kNothing},
    {"structural_tag", Endpoints::both, kNothing},
    {"guided_grammar", Endpoints::both, kNothing},
    {"ebnf", Endpoints::both, kNothing},
    {"thinking_token_budget", Endpoints::both, kNone},
    {"mm_processor_kwargs", Endpoints::both, kNothing},
    {"media_io_kwargs", Endpoints::both, kNothing},
    {"kv_transfer_params", Endpoints::both, kNothing},
    {"vllm_xargs", Endpoints::both, kNothing},
    {"lora_path", Endpoints::both, kNothing},
    // llama.cpp and Ollama:
    {"n_predict", Endpoints::both, kNone, "max_tokens"},
    {"repeat_penalty", Endpoints::both, kOne, "repetition_penalty"},
    {"repeat_last_n", Endpoints::both, "[-1]"},
    {"penalize_nl", Endpoints::both, kNone},
    {"typical_p", Endpoints::both, kOne},
    {"tfs_z", Endpoints::both, kOne},
    {"top_a", Endpoints::both, kZero},
    {"top_n_sigma", Endpoints::both, "[-1, 0]"},
    {"mirostat", Endpoints::both, kZero},
    {"dynatemp_range", Endpoints::both, kZero},
    {"dry_multiplier", Endpoints::both, kZero},
    {"xtc_probability", Endpoints::both, kZero},
    {"samplers", Endpoints::both, kNothing},
    {"grammar", Endpoints::both, kNothing},
    {"grammar_lazy", Endpoints::both, kFalse},
    {"grammar_triggers", Endpoints::both, kNothing},
    {"n_keep", Endpoints::both, kZero},
    {"n_indent", Endpoints::both, kZero},
    {"n_probs", Endpoints::both, kZero, "logprobs"},
    {"post_sampling_probs", Endpoints::both, kFalse},
    {"return_tokens", Endpoints::both, kFalse},
    {"parse_special", Endpoints::chat, kFalse},
    {"response_fields", Endpoints::both, kNothing},
    {"t_max_predict_ms", Endpoints::both, "[0, -1]"},
    {"lora", Endpoints::both, kNothing},
    {"image_data", Endpoints::both, kNothing},
    {"input_prefix", Endpoints::both, kNothing},
    {"input_suffix", Endpoints::both, kNothing},
    {"input_extra", Endpoints::both, kNothing},
    {"thinking_forced_open", Endpoints::both, kFalse},
    {"reasoning_budget", Endpoints::both, "[-1]"},
    {"enable_thinking", Endpoints::text, kFalse},
    {"think", Endpoints::text, kFalse},
    {"format", Endpoints::both, kNothing, "response_format"},
    {"options", Endpoints::both, kNothing, "the fields themselves"},
    {"num_predict", Endpoints::both, kNone, "max_tokens"},
    {"num_ctx", Endpoints::both, kNone},
    {"system", Endpoints::both, kNothing, "a system message"},
    {"template", Endpoints::both, kNothing},
    {"raw", Endpoints::both, kFalse},
    {"images", Endpoints::both, kNothing},
};

bool is_known_by(const KnownField& field, Endpoint endpoint) {
  return field.endpoints == Endpoints::both || (field.endpoints == Endpoints::chat) == (endpoint == Endpoint::chat);
}

/// Returns advice with a value that has no effect: " or set it to 0"; empty if leaving the field out is simpler.
std::string value_to_set(const json& accepted) {
  const bool is_worth_it = !accepted.empty() && accepted.dump() != parse_json(kNothing).dump();
  return is_worth_it ? concat(" or set it to ", accepted.front().dump()) : "";
}

[[noreturn]] void refuse_unknown(const std::string& name, Endpoint endpoint) {
  std::vector<std::string_view> names;
  for (const KnownField& field : kFields) {
    if (is_known_by(field, endpoint)) {
      names.push_back(field.name);
    }
  }
  const bool is_of_other = std::ranges::any_of(kFields, [&](const KnownField& field) { return field.name == name; });
  const std::string_view meant = nearest_word(names, name);
  throw ApiError(
      400,
      concat(short_text(json(name)), is_of_other ? " is a field of the other endpoint" : " is not a field that this server knows",
             meant.empty() || is_of_other ? "; leave it out" : concat("; did you mean \"", meant, "\"?")),
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
    const auto field = std::ranges::find_if(kFields, [&](const KnownField& one) { return one.name == name && is_known_by(one, endpoint); });
    if (field == std::end(kFields)) {
      refuse_unknown(name, endpoint);
    }
    if (field->accepted == kAny) {
      continue;
    }
    const json accepted = parse_json(field->accepted);
    if (std::ranges::find(accepted, value) == accepted.end()) {
      throw ApiError(400,
                     concat(name, ' ', found_value(value), ", which is not supported: leave it out", value_to_set(accepted),
                            field->instead.empty() ? "" : concat(", and use ", field->instead)),
                     name, "invalid_value");
    }
  }
}

}  // namespace dikkat::serve
