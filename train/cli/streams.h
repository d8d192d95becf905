#pragma once

#include <string>
#include <string_view>
#include <vector>

// Results go to standard output and words for people to standard error.
namespace dikkat {

/// For main(), before any file is opened: replaces a closed standard stream by one whose reads or writes fail. Otherwise the next file to
/// be opened would get its number, and be read as the prompt or written to as the terminal.
void hold_standard_streams() noexcept;

/// --quiet: tell() writes nothing from now on, and nothing shows progress.
void be_quiet();
bool is_quiet();

/// A line for people, wrapped to their terminal: it is broken where `between` stands, and lines after the first begin with `indent` blanks.
/// It is dropped where it cannot be written: a terminal that went away stops no run.
void tell(std::string_view line, int indent = 0, std::string_view between = " ");
/// The same for warnings and errors, which --quiet does not drop.
void warn(std::string_view line, int indent = 0, std::string_view between = " ");

/// Writes results. Throws Error when standard output cannot take them (a closed pipe, a full disk).
void put(std::string_view text);
/// Throws Error when results could not be written.
void flush_results();

/// Says on stderr that standard input is being read, where it is a terminal.
void announce_standard_input(const std::string& what);
/// The same for a corpus, where one of its paths is "-".
void announce_corpus(const std::vector<std::string>& paths);
/// "a.txt", or "a.txt and 2 others".
std::string names_of(const std::vector<std::string>& paths);

}  // namespace dikkat
