#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/web/serve/served_model.h"

// Endpoints that generate nothing: they show how a text or a conversation becomes tokens. Their requests and responses are those of
// llama.cpp's server; /tokenize also accepts vLLM's requests. A request may name its model. All throw ApiError for an invalid request.
namespace dikkat::serve {

/// POST /tokenize: {"content": "...", "add_special": false, "parse_special": true, "with_pieces": false}, {"prompt": "..."}, which adds
/// special tokens by default, or {"messages": [...]} with the fields of a chat request. Returns {"tokens": [...], "count",
/// "max_model_len"}, and with "return_token_strs" also "token_strs".
std::string tokenize_json(const std::vector<ServedModel>& models, std::string_view body);
/// POST /detokenize: {"tokens": [...]}. Returns {"content": "...", "prompt": "..."}, the same text under the names of both programs.
std::string detokenize_json(const std::vector<ServedModel>& models, std::string_view body);
/// GET /tokenizer_info: {"bos_token", "eos_token", "pad_token", "chat_template", ...}, as vLLM and the evaluation harness of EleutherAI use
/// them. /tokenize reads each of these tokens back; one that no text stands for is null.
std::string tokenizer_info_json(const ServedModel& model);
/// POST /apply-template: the body of a chat request. Returns {"prompt": "..."}, the text that the model would read.
std::string apply_template_json(const std::vector<ServedModel>& models, std::string_view body);

}  // namespace dikkat::serve
