#pragma once

#include <string>
#include <string_view>
#include <vector>

// Results go to standard output and words for people to standard error.
namespace dikkat {

/// For main(), before any file is opened: a standard stream that is closed becomes one that fails, or else the next file to be opened
/// would take its number, and be read as the prompt or written to as the terminal.
void hold_standard_streams() noexcept;

/// A line for people. It is dropped where it cannot be written: a terminal that went away stops no run.
void tell(std::string_view line);

/// Results, as they are. Throws Error when standard output cannot take them (a closed pipe, a full disk).
void put(std::string_view text);
/// Throws Error when what was put could not be written.
void flush_results();

/// Says on stderr that standard input is waited for, where a person would have to type it.
void announce_standard_input(const std::string& what);
/// The same of a corpus, where one of its paths is "-".
void announce_corpus(const std::vector<std::string>& paths);
/// "a.txt", or "a.txt and 2 others".
std::string names_of(const std::vector<std::string>& paths);

}  // namespace dikkat
