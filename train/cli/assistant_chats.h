#pragma once

#include <filesystem>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Conversations for an assistant, divided into those to learn and those to ask it afterwards. The texts are JSONL.
struct AssistantChats {
  std::string learnt{};
  std::string held_out{};  ///< every tenth conversation, or fewer of many; empty if there are fewer than 20 conversations
  std::string tasks{};     ///< questions about the held-out conversations, for ask_tasks(); may be empty
  index conversations = 0, tasks_count = 0;
  index bytes = 0;     ///< of all messages to learn
  index messages = 0;  ///< to learn
};

/// Reads conversations, one on each line (train/chat/read_conversation.h), from `file`, or the set that comes with the program if it is
/// empty; there "{name}" stands for `name`. The first answer of a held-out conversation becomes two questions: to choose it among three
/// other answers, and to write it. Questions of more than `most` bytes are left out, since a context must hold them. Throws InputError,
/// which names the file and the line, for a line that is not a conversation.
AssistantChats read_assistant_chats(const std::filesystem::path& file, const std::string& name, index most);

}  // namespace dikkat
