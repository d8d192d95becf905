// expect error: not handled.*not handled.*not handled
#include "autograd/tape/tape.h"

// Compiled with an element type more than the library has (CMakeLists.txt): each switch over them must want to know what it is.
int size_of_float(dikkat::DType dtype) {
  return dikkat::for_float(dtype, "size", [](auto zero) { return static_cast<int>(sizeof zero); });
}
