// expect error: not handled.*not handled.*not handled
#include "autograd/tape/tape.h"

// This is compiled with one element type more than the library has (CMakeLists.txt): each switch over the types must ask for it.
int size_of_float(dikkat::DType dtype) {
  return dikkat::for_float(dtype, "size", [](auto zero) { return static_cast<int>(sizeof zero); });
}
