#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"

// Results go to standard output, messages to standard error.
namespace dikkat {

/// For main(), before any file is opened: replaces a closed standard stream by one whose reads or writes fail. Otherwise the next file that
/// is opened would get its descriptor, and be read as the prompt or written to as the terminal.
void hold_standard_streams() noexcept;

/// --quiet: from now on tell() writes nothing, and no progress is shown.
void be_quiet();
bool is_quiet();

/// Writes a message to standard error, wrapped to the terminal: lines are broken at `between`, and all but the first begin with `indent`
/// spaces. An error of the write is ignored: a terminal that was closed stops no run.
void tell(std::string_view line, int indent = 0, std::string_view between = " ");
/// The same for warnings and errors, which --quiet does not drop.
void warn(std::string_view line, int indent = 0, std::string_view between = " ");

/// Nobody reads standard output any more, as in `dikkat --help-config | head`. main() ends the process as SIGPIPE does, without a message.
class ClosedOutput : public Error {
 public:
  using Error::Error;
};

/// Writes results. Throws ClosedOutput if standard output is a pipe that nobody reads, and Error if it cannot be written otherwise (a full
/// disk).
void put(std::string_view text);
/// The same for a text that a model wrote: on a terminal, which would obey them, its control characters are escaped.
void put_text(std::string_view text);
/// Throws as put() does if results could not be written.
void flush_results();

/// If standard input is a terminal, tells the user that it is being read.
void announce_standard_input(const std::string& what);
/// The same for a corpus, if one of its paths is "-".
void announce_corpus(const std::vector<std::string>& paths);
/// "a.txt", or "a.txt and 2 others".
std::string names_of(const std::vector<std::string>& paths);

}  // namespace dikkat
