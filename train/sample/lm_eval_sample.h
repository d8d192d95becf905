#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/sample/questions.h"

namespace dikkat {

/// Reads a line of samples_TASK_*.jsonl, which EleutherAI's lm-evaluation-harness writes with --log_samples, as a question with choices.
/// Returns nullopt for any other object. "arguments" is [[CONTEXT, CONTINUATION], ...], or from newer versions {"gen_args_0": {"arg_0":
/// CONTEXT, "arg_1": CONTINUATION}, ...}. "target" is the index of the right continuation or a list of such indices, also as a string, or
/// the continuation's text. A choice's length is counted in characters, without the space between it and its context.
///
/// If the line has the harness's scores ("filtered_resps", "acc", "acc_norm"), these must follow from the right choice and the lengths, so
/// that a task with a score of its own is not taken for another one. They also tell which of two contexts with the same continuation is
/// right (winogrande). Throws InputError, whose message continues "FILE: line 7 ".
std::optional<Question> read_lm_eval_sample(const nlohmann::json& object);

}  // namespace dikkat
