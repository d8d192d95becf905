// expect error: DTypeOf
#include "autograd/tape/tape.h"

// Element types are f32, f64 and i32.
const long* of_longs(dikkat::Tensor x) { return x.data<long>(); }
