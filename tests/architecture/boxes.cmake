# The one table of boxes: folder, then the folders whose headers it may include (its own always). CMakeLists.txt links by the same table.
set(boxes
  "autograd/base:"
  "autograd/simd:autograd/base"
  "autograd/kernels:autograd/base autograd/simd"
  "autograd/tape:autograd/base autograd/simd"
  "autograd/ops:autograd/base autograd/simd autograd/kernels autograd/tape"
  "layers:autograd/base autograd/simd autograd/tape autograd/ops"
  "optim:autograd/base autograd/kernels autograd/tape"
  "train/system:autograd/base"
  "train/choices:autograd/base"
  "train/text:autograd/base train/system train/choices"
  "train/chat:autograd/base train/system train/choices train/text"
  "train/config:autograd/base autograd/tape layers optim train/system train/choices"
  "train/checkpoint:autograd/base train/system"
  "train/metrics:autograd/base train/system"
  "train/parallel:autograd/base autograd/kernels autograd/tape optim"
  "train/exchange:autograd/base autograd/tape layers train/system train/text train/chat train/config"
  "train/data:autograd/base autograd/simd train/system train/text train/chat train/config train/checkpoint"
  "train/model:autograd/base autograd/kernels autograd/tape autograd/ops layers optim train/system train/text train/config train/checkpoint train/exchange train/data"
  "train/sample:autograd/base autograd/simd autograd/ops layers train/system train/text"
  "train/grammar:autograd/base train/system train/text train/sample"
  "train/machine:autograd/base autograd/simd autograd/kernels autograd/tape optim train/system train/text train/config train/data train/model train/sample"
  "train/run:autograd/base autograd/kernels autograd/tape autograd/ops layers optim train/system train/text train/config train/checkpoint train/metrics train/parallel train/data train/model train/sample train/machine"
  "train/assistant:autograd/base train/system train/chat train/config train/checkpoint train/metrics train/data train/model train/machine train/run"
  "train/sweep:autograd/base train/system train/config train/checkpoint train/metrics train/run"
  "train/library:autograd/base autograd/tape optim train/system train/checkpoint train/metrics train/data train/run"
  "train/web:autograd/base layers train/system train/text train/chat train/config train/checkpoint train/metrics train/sample train/grammar"
  "train/cli:autograd/base autograd/kernels optim train/system train/text train/chat train/config train/checkpoint train/metrics train/parallel train/exchange train/data train/model train/sample train/machine train/run train/sweep train/assistant train/web")

# std::filesystem's functions that throw: those without an argument for the error. Their messages are for programmers.
# (A loop over a directory_iterator throws in ++, even if its constructor got such an argument.)
set(throwing_paths "(fs|filesystem)::(exists|is_directory|is_regular_file|is_symlink|is_empty|status|symlink_status|file_size|last_write_time|create_directory|create_directories|remove|remove_all|read_symlink|absolute|canonical|weakly_canonical|space)\\(([^(),]|\\([^()]*(\\([^()]*\\)[^()]*)*\\))*\\)")

# A seam is a pattern of includes, or of something that may go wrong unnoticed, then the files (patterns too) that may contain it.
set(seams
  "#include <omp\\.h>|#pragma omp=>autograd/base/parallel\\.cpp"
  "#include <Eigen/=>autograd/kernels/gemm/gemm_eigen_loops\\.h"
  "#include <hdf5=>train/checkpoint/[^/]+\\.(h|cpp)"
  "#include <toml\\+\\+=>train/config/[^/]+\\.(h|cpp)"
  "#include <CLI/=>train/cli/.+\\.(h|cpp)"
  "#include <histedit=>train/cli/terminal/line_reader\\.cpp"
  "#include <(oneapi/)?tbb/=>train/.+\\.cpp"
  "#include <pcre2=>train/text/(pieces|scripts|hugging_face/text_pattern)\\.cpp"
  "#include <utf8proc=>train/text/unicode\\.cpp"
  "#include <boost/=>train/web/http/request_parser\\.cpp"
  "#include <mpi\\.h>=>train/parallel/mpi/plugin\\.cpp"
  "#include <dlfcn\\.h>=>train/parallel/launcher\\.cpp"
  "#include <openssl/=>train/system/sha256\\.cpp"
  "describe_errno\\(errno\\)=>autograd/base/error\\.h"
  "${throwing_paths}=>train/system/[^/]+\\.cpp"
  "(fs|filesystem)::(current_path|temp_directory_path)\\(\\)=>train/system/[^/]+\\.cpp"
  ": (std::)?(fs|filesystem)::(recursive_)?directory_iterator=>train/system/[^/]+\\.cpp"
  "[.>](is_directory|is_regular_file|is_symlink|symlink_status|file_size|last_write_time)\\(\\)=>train/system/[^/]+\\.cpp"
  "#include <nlohmann/=>train/.+\\.(h|cpp)")

# Seams of a single file: no second file may have them.
set(single_seams "#include <toml\\+\\+")
