#pragma once

#include "train/assistant/plan.h"

namespace dikkat {

// Files in the folder of an assistant, which are made from its chats and pairs.
inline constexpr const char* kLearnedChats = "chats.jsonl";
inline constexpr const char* kHeldOutChats = "held-out.jsonl";
inline constexpr const char* kTasks = "tasks.jsonl";
inline constexpr const char* kLearnedPairs = "pairs.jsonl";

/// Makes the plan of a new assistant. `wishes` has the options: absolute paths, the name, and the seconds. Measures the machine by some
/// steps on the texts, and writes nothing. Warns of a text that will be read very often. Throws InputError for texts that cannot be read,
/// and for a time that is too short.
AssistantPlan plan_assistant(AssistantPlan wishes);

}  // namespace dikkat
