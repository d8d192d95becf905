#pragma once

#include <memory>
#include <optional>
#include <string>

namespace dikkat {

/// Reads lines that a person types, with editing and a history. The history is kept in $XDG_STATE_HOME/dikkat/history, by default
/// ~/.local/state/dikkat/history. If standard input or error is not a terminal, reads plain lines from standard input.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Returns the next line, without its line break (\n or \r\n). Text that is pasted in a terminal is one line, with line breaks inside.
  /// Returns nullopt at the end of input (Ctrl-D) and after SIGTERM. SIGINT (Ctrl-C) drops the line that is being typed; without a terminal
  /// it ends the process. Throws Error if standard input cannot be read.
  std::optional<std::string> next(const char* prompt = "> ");

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace dikkat
