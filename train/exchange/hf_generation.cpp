#include "train/exchange/hf_generation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

using nlohmann::json;

/// Keys that this program uses (transformers 4.53, generation/configuration_utils.py).
constexpr std::string_view kUsed[] = {"do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "eos_token_id"};

/// Keys that do not change which tokens are drawn. They concern the file, the tokenizer's tokens, memory, speed, the length of an answer,
/// and beam search, which num_beams turns on.
constexpr std::string_view kHarmless[] = {"_from_model_config",
                                          "_commit_hash",
                                          "_original_object_hash",
                                          "transformers_version",
                                          "bos_token_id",
                                          "pad_token_id",
                                          "decoder_start_token_id",
                                          "use_cache",
                                          "cache_implementation",
                                          "cache_config",
                                          "return_legacy_cache",
                                          "prefill_chunk_size",
                                          "low_memory",
                                          "compile_config",
                                          "disable_compile",
                                          "max_length",
                                          "max_new_tokens",
                                          "max_time",
                                          "num_return_sequences",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_scores",
                                          "output_logits",
                                          "return_dict_in_generate",
                                          "early_stopping",
                                          "num_beam_groups",
                                          "length_penalty",
                                          "diversity_penalty",
                                          "renormalize_logits",
                                          "remove_invalid_values",
                                          "is_assistant",
                                          "num_assistant_tokens",
                                          "assistant_lookbehind",
                                          "target_lookbehind",
                                          "num_assistant_tokens_schedule",
                                          "assistant_confidence_threshold",
                                          "assistant_early_exit",
                                          "max_matching_ngram_size",
                                          "prompt_lookup_num_tokens",
                                          "trust_remote_code"};

/// A key that changes the text and is not used. It changes nothing if it is `neutral`, null, false, 0 or empty.
struct LostKey {
  std::string_view key;
  double neutral = 0;
};
constexpr LostKey kLost[] = {{"num_beams", 1},
                             {"penalty_alpha"},
                             {"dola_layers"},
                             {"typical_p", 1},
                             {"epsilon_cutoff"},
                             {"eta_cutoff"},
                             {"top_h"},
                             {"encoder_repetition_penalty", 1},
                             {"no_repeat_ngram_size"},
                             {"encoder_no_repeat_ngram_size"},
                             {"bad_words_ids"},
                             {"force_words_ids"},
                             {"constraints"},
                             {"forced_bos_token_id"},
                             {"forced_eos_token_id"},
                             {"forced_decoder_ids"},
                             {"exponential_decay_length_penalty"},
                             {"suppress_tokens"},
                             {"begin_suppress_tokens"},
                             {"sequence_bias"},
                             {"token_healing"},
                             {"guidance_scale", 1},
                             {"watermarking_config"},
                             {"stop_strings"},
                             {"min_length"},
                             {"min_new_tokens"}};

template <class List>
bool holds(const List& names, std::string_view key) {
  return std::ranges::find(names, key) != std::end(names);
}

bool changes_text(const json& value, double neutral) {
  const bool is_off = is_nothing(value) || (value.is_number() && (value == 0 || value.get<double>() == neutral));
  return !is_off;
}

/// Returns a note that names the keys which would change the text but are not used, or an empty string.
std::string note_on_lost_keys(const json& object, const std::string& name, GenerationFile file) {
  std::string list;
  for (const auto& item : object.items()) {
    const auto* const lost = std::ranges::find(kLost, std::string_view(item.key()), &LostKey::key);
    const bool is_known = lost != std::end(kLost);
    // The other keys of a config.json belong to the model.
    const bool counts =
        is_known || (file == GenerationFile::generation_config && !holds(kUsed, item.key()) && !holds(kHarmless, item.key()));
    if (counts && changes_text(item.value(), is_known ? lost->neutral : 0)) {
      list += concat(list.empty() ? "" : ", ", item.key(), " (", short_text(item.value()), ")");
    }
  }
  return list.empty() ? "" : concat(name, " has keys that change which text is drawn, and which are not used: ", list);
}

}  // namespace

std::vector<Token> hf_end_tokens(const HfReader& reader, index vocab_size) {
  std::vector<Token> tokens;
  const json* ids = reader.find("eos_token_id");
  if (ids == nullptr) {
    return tokens;
  }
  for (const json& id : ids->is_array() ? *ids : json::array({*ids})) {
    require_input(id.is_number_integer() && id >= 0 && id < vocab_size, reader.name(), ": eos_token_id is ", short_text(*ids),
                  ", expected ids from 0 to ", vocab_size - 1);
    tokens.push_back(id.get<Token>());
  }
  return tokens;
}

void add_hf_generation(std::string_view text, const std::string& name, GenerationFile file, ForeignConfig& config) {
  const json object = parse_json_object(text, name, "a generation_config.json of Hugging Face");
  const HfReader reader(object, name);

  // Read how answers are drawn. The defaults are those of transformers.
  const json* const draws = reader.find("do_sample");
  require_input(draws == nullptr || draws->is_boolean(), name, ": do_sample is ", draws != nullptr ? short_text(*draws) : "",
                ", expected true or false");
  std::string named;
  AnswerSampling sampling{.temperature = 1, .top_k = 50};
  const auto read = [&](const char* key, double most, auto& value) {
    using N = std::remove_reference_t<decltype(value)>;
    const json* const found = reader.find(key);
    if (found == nullptr) {
      return;
    }
    const bool is_number = std::is_same_v<N, double> ? found->is_number() : found->is_number_integer();
    require_input(is_number && 0 <= found->get<double>() && found->get<double>() <= most, name, ": ", key, " is ", short_text(*found),
                  ", expected a number from 0 to ", most);
    value = found->get<N>();
    named = named.empty() ? key : named;
  };
  read("temperature", 1000, sampling.temperature);
  read("top_k", 1e9, sampling.top_k);
  read("top_p", 1, sampling.top_p);
  read("min_p", 1, sampling.min_p);
  // Choose between drawing and greedy answers: transformers draws only if do_sample is true.
  if (draws != nullptr && *draws == false) {
    sampling = greedy();
  } else if (draws == nullptr && named.empty()) {
    sampling = AnswerSampling();
  } else if (draws == nullptr) {
    config.notes.push_back(concat(
        name, " has ", named, " but no do_sample, without which transformers always takes the likeliest token: here answers are drawn"));
  } else if (sampling.temperature == 0) {
    sampling = greedy();
  }
  read("repetition_penalty", 1000, sampling.repetition_penalty);
  config.sampling = sampling;
  if (std::string note = note_on_lost_keys(object, name, file); !note.empty()) {
    config.notes.push_back(std::move(note));
  }

  // Add the tokens that end texts.
  for (const Token end : hf_end_tokens(reader, config.model.vocab_size)) {
    if (std::ranges::find(config.end_tokens, end) == config.end_tokens.end()) {
      config.end_tokens.push_back(end);
    }
  }
}

std::string hf_generation_text(const TextTokens& tokens, const AnswerSampling& sampling) {
  const bool draws = sampling.temperature > 0;
  json object{{"do_sample", draws}};
  if (draws) {  // transformers warns of them otherwise
    object["temperature"] = sampling.temperature;
    object["top_k"] = sampling.top_k;
    object["top_p"] = sampling.top_p;
    if (sampling.min_p > 0) {
      object["min_p"] = sampling.min_p;
    }
  }
  if (sampling.repetition_penalty != 1) {
    object["repetition_penalty"] = sampling.repetition_penalty;
  }
  if (tokens.bos) {
    object["bos_token_id"] = *tokens.bos;
  }
  if (tokens.ends.size() == 1) {
    object["eos_token_id"] = tokens.ends.front();
  } else if (!tokens.ends.empty()) {
    object["eos_token_id"] = tokens.ends;
  }
  return object.dump(2) + '\n';
}

}  // namespace dikkat
