#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/base/index.h"

namespace dikkat::assistant {

struct Wishes;

/// Returns the path of a file of conversations that comes with the program. Throws InputError if there is none.
using ShippedData = std::function<std::string(const char* name)>;

/// A question with its answer, from the beginning of a conversation.
struct Asked {
  std::string prompt, answer;
};

/// Conversations for an assistant, divided into those to learn and those to ask it afterwards. The texts are JSONL.
struct Chats {
  std::string path{};  ///< the file or folder; of those that come with the program, the questions
  std::string learned{};
  std::string held_out{};          ///< one of kHeldOutEvery conversations, or fewer of many; empty if there are fewer than kFewestChats
  std::vector<Asked> questions{};  ///< in the held-out conversations
  index conversations = 0;         ///< to learn
  index bytes = 0;                 ///< of all messages to learn
  index messages = 0;              ///< to learn
  std::string note{};              ///< for the user: which columns of a table are read; empty for JSON
};

/// Reads conversations (train/chat/read_conversation.h), in JSONL, JSON arrays or tables, from the file or folder of --chats. Without it,
/// reads those that come with the program, in which "{name}" stands for the name. Throws InputError, which names the file and the line or
/// object, for one that is not a conversation.
Chats read_chats(const Wishes& wishes, const ShippedData& shipped);

/// Questions about held-out conversations, for `dikkat eval --tasks`.
struct Tasks {
  std::string lines{};  ///< JSONL
  index asked = 0;      ///< conversations with questions
};

/// Makes two questions of each one that fits into a context: to choose its answer among others, and to write it. A question with an answer
/// of more than `longest` bytes together is left out, since a context must hold both.
Tasks tasks_of(const Chats& chats, index longest);

/// Returns `count` examples of files, each on a line, evenly spread over all of them, or all if there are fewer. Throws InputError for
/// files that cannot be read.
std::string some_lines(const std::string& path, index count);

}  // namespace dikkat::assistant
