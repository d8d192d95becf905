#include "train/cli/write_page.h"

#include <span>
#include <string>

#include "train/cli/streams.h"
#include "train/io/file.h"
#include "train/report/page.h"

namespace dikkat {

void require_page_name(const std::filesystem::path& out) {
  if (!is_there(out)) {
    return;
  }
  std::string begin(kPageBegin.size(), '\0');
  const File file = File::open_regular(out);
  const int error = file.read(0, std::as_writable_bytes(std::span(begin)));
  require_input(error == 0 && begin == kPageBegin, out.string(), " is there already, and is not a page of dikkat: choose another name");
}

void write_page(const std::filesystem::path& out, std::string_view page) {
  require_page_name(out);
  replace_file(out, page);
  tell(concat(out.string(), ": open it in a browser; it needs no network and no other file"));
}

}  // namespace dikkat
