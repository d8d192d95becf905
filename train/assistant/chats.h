#pragma once

#include <filesystem>
#include <string>

#include "autograd/base/index.h"

namespace dikkat {

/// Conversations for an assistant, divided into those to learn and those to ask it afterwards. The texts are JSONL.
struct AssistantChats {
  std::string learned{};
  std::string held_out{};   ///< every tenth conversation, or fewer of many; empty if there are fewer than 20 conversations
  std::string tasks{};      ///< questions about the held-out conversations, for ask_tasks(); may be empty
  index conversations = 0;  ///< to learn
  index asked = 0;          ///< held-out conversations with questions
  index bytes = 0;          ///< of all messages to learn
  index messages = 0;       ///< to learn
};

/// Reads conversations (train/chat/read_conversation.h), in JSONL or JSON arrays, from a file or a folder. If `file` is empty, it reads the
/// set that comes with the program; there "{name}" stands for `name`. The first answer of a held-out conversation becomes two questions: to
/// choose it among three other answers, and to write it. A question with an answer of more than `most` bytes together is left out, since a
/// context must hold both. Throws InputError, which names the file and the line or object, for one that is not a conversation.
AssistantChats read_assistant_chats(const std::filesystem::path& file, const std::string& name, index most);

/// Returns `count` examples of files, each on a line, evenly spread over all of them, or all if there are fewer. Throws InputError for
/// files that cannot be read.
std::string some_lines(const std::string& path, index count);

}  // namespace dikkat
