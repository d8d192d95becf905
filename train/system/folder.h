#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/system/file.h"

// Functions for folders and paths. Other code does not call those functions of std::filesystem that throw, because their messages are for
// programmers.
namespace dikkat {

/// Returns whether this is a folder, or a link to one. False if that is not known.
bool is_folder(const std::filesystem::path& path);
/// Returns whether this is a regular file, or a link to one. False if that is not known.
bool is_file(const std::filesystem::path& path);

/// Creates a folder and its parents if they do not exist. Returns whether it created one. Throws as require_path() does.
bool make_folders(const std::filesystem::path& path);
/// Removes a file, or a folder with all its contents. Does nothing if it does not exist. Throws Error if it cannot be removed.
void remove_tree(const std::filesystem::path& path);
/// Returns the paths in a folder, sorted. Throws as require_path() does if it cannot be listed.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

/// Returns the absolute path. Throws InputError for a relative path if the current folder was removed.
std::filesystem::path absolute_path(const std::filesystem::path& path);
/// Returns the path of the running program; empty if the system does not report it.
std::filesystem::path program_file();

/// Writes a new file, as write_file() does (train/system/write_file.h), and creates its parent folders. Throws InputError and changes
/// nothing if the name exists, even if another program has only just taken it.
void write_new_file(const std::filesystem::path& path, std::string_view text);
/// Does what write_new_file() does, but accepts a file that already has this text: a killed command may have written it. Returns whether it
/// wrote the file.
bool write_new_or_same_file(const std::filesystem::path& path, std::string_view text);

}  // namespace dikkat
