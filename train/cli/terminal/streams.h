#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"

// Results go to standard output, messages to standard error.
namespace dikkat {

/// Replaces a closed standard stream with one whose reads or writes fail. Otherwise the next file that is opened would get its descriptor,
/// and be read as the prompt or written to as the terminal. main() calls it before any file is opened.
void hold_standard_streams() noexcept;

/// Implements --quiet: after it print_message() prints nothing, and no progress is shown.
void be_quiet();
bool is_quiet();

/// Prints a message to standard error, wrapped to the terminal: lines are broken at `between`, and all but the first begin with `indent`
/// spaces. Write errors are ignored, so that a closed terminal does not stop a run.
void print_message(std::string_view line, int indent = 0, std::string_view between = " ");
/// Prints a warning or an error as print_message() does, even with --quiet.
void warn(std::string_view line, int indent = 0, std::string_view between = " ");

inline constexpr int kLabelColumns = 10;
/// Prints a message that begins with a label, such as "model"; its other lines are indented below the text.
void print_labeled(std::string_view label, std::string_view text);
/// Prints a warning as print_labeled() does, even with --quiet.
void warn_labeled(std::string_view label, std::string_view text);

/// Thrown if nothing reads standard output any more, as in `dikkat --help-config | head`. main() then ends the process as SIGPIPE does,
/// without a message.
class ClosedOutput : public Error {
 public:
  using Error::Error;
};

/// Prints results to standard output. Throws ClosedOutput if that is a pipe that nothing reads, and Error if writing fails otherwise, as on
/// a full disk.
void print_result(std::string_view text);
/// Prints text that a model wrote. On a terminal its control characters are escaped, since the terminal would obey them.
void print_model_text(std::string_view text);
/// Flushes the results. Throws as print_result() does.
void flush_results();

/// Prints that `what` is read from standard input, if that is a terminal.
void announce_standard_input(const std::string& what);
/// Announces standard input for a corpus if one of its paths is "-".
void announce_corpus(const std::vector<std::string>& paths);
/// Returns "a.txt", or "a.txt and 2 others".
std::string names_of(const std::vector<std::string>& paths);

}  // namespace dikkat
