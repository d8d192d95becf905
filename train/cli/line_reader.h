#pragma once

#include <memory>
#include <optional>
#include <string>

namespace dikkat {

/// Lines that a person types, with editing and a history that is kept from one session to the next in $XDG_STATE_HOME/dikkat/history, by
/// default ~/.local/state/dikkat/history. Where standard input or error is no terminal: the plain lines of standard input.
class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line, without its end; nothing at the end of input (Ctrl-D) and after SIGTERM. SIGINT (Ctrl-C) drops the line that is being
  /// typed; where there is no terminal it ends the process. Throws Error where standard input cannot be read.
  std::optional<std::string> next();

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace dikkat
