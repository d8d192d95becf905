#pragma once

#include <filesystem>
#include <string_view>

namespace dikkat {

/// Creates the folders of a page that will be written. Commands call it first, so that their work is not lost. Throws InputError if the
/// page cannot be written there, or if there is a file of that name that is not a page of dikkat.
void require_page_name(const std::filesystem::path& out);

/// Writes a page, replacing an older one, and prints how to open it.
void write_page(const std::filesystem::path& out, std::string_view page);

}  // namespace dikkat
