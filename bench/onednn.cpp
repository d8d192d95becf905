#include "bench/onednn.h"

#include "autograd/base/error.h"

#if __has_include(<oneapi/dnnl/dnnl.hpp>)

#include <map>
#include <tuple>

#include <oneapi/dnnl/dnnl.hpp>

namespace dikkat::bench {
namespace {

dnnl::memory::desc matrix(index rows, index cols, index ld, bool transposed) {
  return {{rows, cols}, dnnl::memory::data_type::f32, transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1}};
}

}  // namespace

void onednn_gemm(const kernels::Gemm<float>& p) {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(cpu);
  static std::map<std::tuple<index, index, index, bool, bool>, dnnl::matmul> made;
  const auto a = matrix(p.m, p.k, p.lda, p.transpose_a), b = matrix(p.k, p.n, p.ldb, p.transpose_b), c = matrix(p.m, p.n, p.ldc, false);
  auto found = made.find({p.m, p.n, p.k, p.transpose_a, p.transpose_b});
  if (found == made.end()) {
    const dnnl::matmul::primitive_desc description({a, b, c}, cpu);
    found = made.emplace(std::tuple(p.m, p.n, p.k, p.transpose_a, p.transpose_b), dnnl::matmul(description)).first;
  }
  const auto memory = [](const dnnl::memory::desc& of, const float* data) { return dnnl::memory(of, cpu, const_cast<float*>(data)); };
  found->second.execute(stream, {{DNNL_ARG_SRC, memory(a, p.a)}, {DNNL_ARG_WEIGHTS, memory(b, p.b)}, {DNNL_ARG_DST, memory(c, p.c)}});
  stream.wait();
}

}  // namespace dikkat::bench

#else

namespace dikkat::bench {

void onednn_gemm(const kernels::Gemm<float>&) { fail("oneDNN was not found when this was built, expected Debian's libdnnl-dev"); }

}  // namespace dikkat::bench

#endif
