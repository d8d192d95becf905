#pragma once

#include <filesystem>
#include <string_view>

namespace dikkat {

/// For the beginning of a command, so that its work is not in vain: makes the folders of a page that will be written. Throws InputError if
/// it cannot be written there, or there is something of this name that is not one of our pages: a page may be replaced, and nothing else.
void require_page_name(const std::filesystem::path& out);

/// Writes a page in place of an older one, and tells the user what to do with it.
void write_page(const std::filesystem::path& out, std::string_view page);

}  // namespace dikkat
