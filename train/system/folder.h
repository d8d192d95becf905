#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/system/file.h"

// What the program does with folders and paths. std::filesystem's functions that throw are used nowhere else, because their messages are
// for programmers.
namespace dikkat {

/// Whether this is a folder, or a link to one. False if that is not known.
bool is_folder(const std::filesystem::path& path);
/// Whether this is a regular file, or a link to one. False if that is not known.
bool is_file(const std::filesystem::path& path);

/// Creates a folder and those above it, where they do not exist. Returns whether it has created one. Throws as require_path() does.
bool make_folders(const std::filesystem::path& path);
/// Removes a file, or a folder with all that is in it; nothing if it does not exist. Throws Error if that fails.
void remove_tree(const std::filesystem::path& path);
/// The paths in a folder, sorted. Throws as require_path() does if it cannot be listed.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

/// The path as seen from the root. Throws InputError for a relative one if the current folder was removed.
std::filesystem::path absolute_path(const std::filesystem::path& path);
/// The file of the program that runs; empty if the system does not say it.
std::filesystem::path program_file();

/// Writes a new file, as write_file() does (train/system/write_file.h), with the folders above it. Throws InputError if something has this
/// name already, even if another program has just taken it; then nothing is changed.
void write_new_file(const std::filesystem::path& path, std::string_view text);

}  // namespace dikkat
