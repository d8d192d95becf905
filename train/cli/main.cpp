#include <new>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/cli/command_line.h"
#include "train/cli/signals.h"
#include "train/cli/streams.h"

int main(int argc, char** argv) {
  constexpr int kFailure = 1;
  constexpr int kBadInput = 2;
  dikkat::hold_standard_streams();
  dikkat::wait_briefly(argv);
  dikkat::handle_signals();
  try {
    return dikkat::run_command_line(argc, argv);
  } catch (const dikkat::InputError& e) {
    dikkat::tell(dikkat::concat("dikkat: ", e.what()));
    return kBadInput;
  } catch (const std::bad_alloc&) {
    dikkat::tell("dikkat: out of memory; try a smaller model or batch");
  } catch (const std::exception& e) {
    dikkat::tell(dikkat::concat("dikkat: ", e.what()));
  }
  return kFailure;
}
