#include "autograd/kernels/gemm/gemm_eigen_loops.h"

namespace dikkat::kernels {

template void gemm_eigen(const Gemm<double>&);
template void gemm_eigen(const Gemm<float, double>&);

}  // namespace dikkat::kernels
