#include "train/cli/terminal/streams.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/cli/terminal/terminal.h"
#include "train/cli/terminal/text.h"

namespace dikkat {
namespace {

bool quiet = false;

void require_output(bool ok) {
  if (!ok && errno == EPIPE) {
    throw ClosedOutput("standard output was closed");
  }
  require(ok, "standard output cannot be written: ", errno_text);
}

std::string labeled(std::string_view label, std::string_view text) { return fmt::format("{:<{}}{}", label, kLabelColumns, text); }

}  // namespace

void hold_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY) < 0) {
      return;  // open() takes the lowest free number, which is `stream`; without /dev/null nothing can be done
    }
  }
}

void be_quiet() { quiet = true; }
bool is_quiet() { return quiet; }

void print_message(std::string_view line, int indent, std::string_view between) {
  if (!quiet) {
    warn(line, indent, between);
  }
}

void warn(std::string_view line, int indent, std::string_view between) {
  std::fputs((wrapped(line, terminal_columns(), indent, between) + '\n').c_str(), stderr);
}

void print_labeled(std::string_view label, std::string_view text) { print_message(labeled(label, text), kLabelColumns); }
void warn_labeled(std::string_view label, std::string_view text) { warn(labeled(label, text), kLabelColumns); }

void print_result(std::string_view text) { require_output(std::fwrite(text.data(), 1, text.size(), stdout) == text.size()); }

void print_model_text(std::string_view text) {
  static const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  is_terminal ? print_result(for_terminal(text)) : print_result(text);
}

void flush_results() { require_output(std::fflush(stdout) == 0); }

void announce_standard_input(const std::string& what) {
  if (::isatty(STDIN_FILENO) == 1) {
    print_message(what + " is read from standard input; end it with Ctrl-D");
  }
}

std::string names_of(const std::vector<std::string>& paths) {
  if (paths.size() < 2) {
    return paths.empty() ? "" : for_terminal(paths.front());
  }
  return concat(for_terminal(paths.front()), " and ", paths.size() - 1, paths.size() == 2 ? " other" : " others");
}

void announce_corpus(const std::vector<std::string>& paths) {
  if (std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    announce_standard_input("the corpus");
  }
}

}  // namespace dikkat
