#include "train/cli/terminal/line_reader.h"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <string_view>

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"

namespace dikkat {
namespace {

/// Returns the path of the history; empty if neither XDG_STATE_HOME nor HOME is an absolute path.
std::filesystem::path history_file() {
  const auto folder_in = [](const char* name) {
    const char* value = std::getenv(name);
    const std::filesystem::path folder = value != nullptr ? value : "";
    return folder.is_absolute() ? folder : std::filesystem::path();
  };
  if (const auto state = folder_in("XDG_STATE_HOME"); !state.empty()) {
    return state / "dikkat" / "history";
  }
  const auto home = folder_in("HOME");
  return home.empty() ? home : home / ".local" / "state" / "dikkat" / "history";
}

/// Returns the prompt, which is the editor's client data.
char* shown_prompt(EditLine* editor) {
  void* prompt = nullptr;
  el_get(editor, EL_CLIENTDATA, &prompt);
  return static_cast<char*>(prompt);
}

/// Returns whether the terminal understands control sequences.
bool has_sequences() {
  const char* name = std::getenv("TERM");
  return name != nullptr && *name != '\0' && std::string_view(name) != "dumb";
}

constexpr wchar_t kDropLine = 3;  // Ctrl-C as a character, which is bound to dropping the line

/// Reads a character. It replaces libedit's own function, which would keep waiting after a signal.
int read_character(EditLine*, wchar_t* character) {
  std::mbstate_t state{};
  for (;;) {
    pollfd inputs[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}, {.fd = stop_descriptor(), .events = POLLIN, .revents = 0}};
    ::poll(inputs, 2, -1);
    const bool ready = inputs[0].revents != 0;
    if (stop_signal() == SIGINT) {
      forget_interrupt();
      *character = kDropLine;
      return 1;
    }
    if (stop_requested()) {
      return 0;
    }
    char byte = 0;
    const auto count = ready ? ::read(STDIN_FILENO, &byte, 1) : -1;
    if (ready && count <= 0) {
      return 0;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the state is our own
    const auto used = count == 1 ? std::mbrtowc(character, &byte, 1, &state) : static_cast<std::size_t>(-2);
    if (used == static_cast<std::size_t>(-1)) {
      state = {};
    } else if (used != static_cast<std::size_t>(-2)) {
      return 1;
    }
  }
}

// A terminal that is asked to sends these marks around pasted text.
constexpr const char* kAskForMarks = "\033[?2004h";
constexpr const char* kNoMoreMarks = "\033[?2004l";
constexpr const char* kPasteBegins = "\033[200~";
constexpr std::wstring_view kPasteEnds = L"\033[201~";

/// Inserts pasted text into the line, with its line breaks. Otherwise each pasted line would be submitted separately.
unsigned char take_pasted_text(EditLine* editor, int) {
  std::wstring text;
  while (!text.ends_with(kPasteEnds)) {
    wchar_t character = 0;
    if (el_wgetc(editor, &character) != 1) {
      return CC_EOF;
    }
    if (character == kDropLine) {
      return CC_REFRESH;
    }
    if (character == L'\n' && text.ends_with(L'\r')) {
      text.back() = L'\n';
    } else if (character != 0) {
      text += character;
    }
  }
  text.resize(text.size() - kPasteEnds.size());
  std::ranges::replace(text, L'\r', L'\n');  // terminals send this for a line break
  if (text.ends_with(L'\n')) {
    text.pop_back();  // the text was copied as whole lines
  }
  return text.empty() || el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

/// Reads characters as UTF-8, also in other locales.
void read_utf8() {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread asks for the locale
  if (std::setlocale(LC_CTYPE, "") == nullptr || std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  // NOLINTEND(concurrency-mt-unsafe)
}

}  // namespace

struct LineReader::Terminal {
  Terminal() : lines(history_init()), file(history_file()) {
    constexpr int kLines = 1000;
    read_utf8();
    editor = el_init("dikkat", stdin, stderr, stderr);  // standard output is for results
    require(editor != nullptr && lines != nullptr, "libedit does not support this terminal, expected TERM to name one that it knows");
    history(lines, &event, H_SETSIZE, kLines);
    history(lines, &event, H_SETUNIQUE, 1);
    el_set(editor, EL_PROMPT, shown_prompt);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_BIND, "^C", "em-kill-line", nullptr);
    el_set(editor, EL_ADDFN, "dikkat-paste", "Takes pasted text", take_pasted_text);
    el_set(editor, EL_BIND, kPasteBegins, "dikkat-paste", nullptr);
    el_set(editor, EL_GETCFN, read_character);
    el_set(editor, EL_HIST, history, lines);
    el_source(editor, nullptr);  // ~/.editrc, if there is one
    if (!file.empty()) {
      std::error_code ignored;
      std::filesystem::create_directories(file.parent_path(), ignored);
      history(lines, &event, H_LOAD, file.c_str());
    }
  }
  ~Terminal() {
    el_end(editor);
    history_end(lines);
  }

  std::optional<std::string> next(const char* wanted_prompt) {
    prompt = wanted_prompt;
    el_set(editor, EL_CLIENTDATA, prompt.data());
    int count = 0;
    show(kAskForMarks);
    const char* text = el_gets(editor, &count);
    show(kNoMoreMarks);
    if (text == nullptr || count <= 0) {
      print_message("");  // the cursor is still on the line of the prompt
      return std::nullopt;
    }
    std::string line(text, static_cast<std::size_t>(count));
    if (line.ends_with('\n')) {
      line.pop_back();
    }
    remember(line);
    return line;
  }

  /// Sends a sequence to a terminal that understands it.
  void show(const char* sequence) const {
    if (knows_marks) {
      std::fputs(sequence, stderr);
    }
  }

  /// Saves the history at once, since a session may end at any time. A history that cannot be saved does not end the session.
  void remember(const std::string& line) {
    if (line.find_first_not_of(" \t") == std::string::npos) {
      return;
    }
    history(lines, &event, H_ENTER, line.c_str());
    if (!file.empty()) {
      history(lines, &event, H_SAVE, file.c_str());
    }
  }

  History* lines;
  EditLine* editor = nullptr;
  HistEvent event{};
  std::filesystem::path file;
  std::string prompt;
  const bool knows_marks = has_sequences();
};

LineReader::LineReader() {
  if (::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0) {
    terminal_ = std::make_unique<Terminal>();
  }
}
LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next(const char* prompt) {
  if (terminal_ != nullptr) {
    return terminal_->next(prompt);
  }
  stop_at_once();
  std::string line;
  int c = 0;
  while ((c = std::getc(stdin)) != EOF && c != '\n') {
    line.push_back(static_cast<char>(c));
  }
  stop_in_order();
  require(std::ferror(stdin) == 0, "standard input cannot be read, expected one prompt per line");
  if (c == EOF && line.empty()) {
    return std::nullopt;
  }
  if (c == '\n' && line.ends_with('\r')) {
    line.pop_back();
  }
  return line;
}

}  // namespace dikkat
