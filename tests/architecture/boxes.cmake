# The one table of boxes: folder, then the folders whose headers it may include (its own always). CMakeLists.txt links by the same table.
set(boxes
  "autograd/base:"
  "autograd/kernels:autograd/base"
  "autograd/tape:autograd/base"
  "autograd/ops:autograd/base autograd/kernels autograd/tape"
  "layers:autograd/base autograd/tape autograd/ops"
  "optim:autograd/base autograd/kernels autograd/tape"
  "train/io:autograd/base"
  "train/machine:autograd/base"
  "train/tasks:autograd/base"
  "train/hash:autograd/base train/tasks"
  "train/text:autograd/base train/io"
  "train/formats:autograd/base train/io"
  "train/chat:autograd/base train/io train/hash train/text"
  "train/data:autograd/base train/io train/tasks train/hash train/text train/chat"
  "train/config:autograd/base autograd/tape layers optim train/io train/text train/chat"
  "train/checkpoint:autograd/base train/io train/hash"
  "train/exchange:autograd/base autograd/tape layers train/io train/text train/config train/formats"
  "train/model:autograd/base train/io train/hash autograd/tape autograd/ops layers optim train/text train/data train/config train/formats train/checkpoint train/exchange"
  "train/sample:autograd/base autograd/tape autograd/ops layers train/text"
  "train/metrics:autograd/base train/io"
  "train/sources:autograd/base train/io train/machine train/hash train/text train/chat train/data train/config train/model"
  "train/parallel:autograd/base autograd/kernels autograd/tape optim"
  "train/loop:autograd/base autograd/kernels autograd/tape autograd/ops layers optim train/io train/machine train/tasks train/hash train/text train/chat train/data train/config train/checkpoint train/exchange train/model train/sources train/sample train/metrics train/parallel"
  "train/sweep:autograd/base train/io train/config train/checkpoint train/metrics train/loop"
  "train/http:autograd/base"
  "train/report:autograd/base train/config train/checkpoint train/metrics train/http"
  "train/serve:autograd/base layers train/text train/chat train/exchange train/sample train/http"
  "train/cli:autograd/base autograd/kernels autograd/tape autograd/ops layers optim train/io train/machine train/tasks train/hash train/text train/chat train/data train/config train/checkpoint train/exchange train/model train/sample train/metrics train/sources train/parallel train/loop train/sweep train/report train/http train/serve")

# std::filesystem's functions that throw: with one argument, or none, in place of a second one for the error. Their messages are for programmers.
# (A loop over a directory_iterator throws in ++, whatever its constructor was given.)
set(throwing_paths "(fs|filesystem)::(exists|is_directory|is_regular_file|is_symlink|is_empty|status|symlink_status|file_size|last_write_time|create_directory|create_directories|remove|remove_all|read_symlink|absolute|canonical|weakly_canonical|space)\\(([^(),]|\\([^()]*(\\([^()]*\\)[^()]*)*\\))*\\)")

# What is behind a seam: a pattern of includes, or of what may go wrong without being seen, then the files (patterns too) that alone may have it.
set(seams
  "#include <omp\\.h>|#pragma omp=>autograd/base/parallel\\.cpp"
  "#include <Eigen/=>autograd/kernels/gemm_eigen\\.cpp"
  "#include <hdf5=>train/checkpoint/[^/]+\\.(h|cpp)"
  "#include <toml\\+\\+=>train/config/[^/]+\\.(h|cpp)"
  "#include <CLI/=>train/cli/[^/]+\\.(h|cpp)"
  "#include <histedit=>train/cli/line_reader\\.cpp"
  "#include <(oneapi/)?tbb/=>train/[^/]+/[^/]+\\.cpp"
  "#include <pcre2=>train/text/(pieces|scripts)\\.cpp"
  "#include <utf8proc=>train/text/unicode\\.cpp"
  "#include <boost/=>train/http/request_parser\\.cpp"
  "#include <mpi\\.h>=>train/parallel/mpi/plugin\\.cpp"
  "#include <dlfcn\\.h>=>train/parallel/launcher\\.cpp"
  "#include <openssl/=>train/hash/sha256\\.cpp"
  "describe_errno\\(errno\\)=>autograd/base/error\\.h"
  "${throwing_paths}=>train/io/[^/]+\\.cpp"
  "(fs|filesystem)::(current_path|temp_directory_path)\\(\\)=>train/io/[^/]+\\.cpp"
  ": (std::)?(fs|filesystem)::(recursive_)?directory_iterator=>train/io/[^/]+\\.cpp"
  "[.>](is_directory|is_regular_file|is_symlink|symlink_status|file_size|last_write_time)\\(\\)=>train/io/[^/]+\\.cpp"
  "#include <nlohmann/=>train/[^/]+/[^/]+\\.(h|cpp)")

# Seams that are one file's alone: no second file may have them.
set(single_seams "#include <toml\\+\\+")
