#include "train/cli/terminal/write_page.h"

#include <cerrno>
#include <span>
#include <string>

#include <unistd.h>

#include "train/cli/terminal/streams.h"
#include "train/system/file.h"
#include "train/web/report/page.h"

namespace dikkat {

void require_page_name(const std::filesystem::path& out) {
  namespace fs = std::filesystem;
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  std::error_code failed;
  fs::create_directories(folder, failed);
  require_path(failed.value(), folder.string(), " cannot be created");
  require_path(::access(folder.c_str(), W_OK) == 0 ? 0 : errno, folder.string(), " cannot be written to");
  require_input(!fs::is_directory(out, failed), out.string(), " is a folder, expected the name of a file, such as ",
                (out / "page.html").string());
  if (!is_there(out)) {
    return;
  }
  require_input(fs::is_regular_file(out, failed), out.string(),
                " is a pipe, socket or device, expected the name of a new file, or of a page to replace");
  std::string begin(kPageBegin.size(), '\0');
  const File file = File::open_regular(out);
  const int error = file.read(0, std::as_writable_bytes(std::span(begin)));
  require_input(error == 0 && begin == kPageBegin, out.string(), " exists already, and is not a page of dikkat: choose another name");
}

void write_page(const std::filesystem::path& out, std::string_view page) {
  require_page_name(out);
  replace_file(out, page);
  print_message(concat(out.string(), ": open it in a browser; it needs no network and no other file"));
}

}  // namespace dikkat
