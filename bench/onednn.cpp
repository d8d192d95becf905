#include "bench/onednn.h"

#include "autograd/base/error.h"

#if __has_include(<oneapi/dnnl/dnnl.hpp>)

#include <map>
#include <tuple>

#include <oneapi/dnnl/dnnl.hpp>

namespace dikkat::bench {
namespace {

using Type = dnnl::memory::data_type;

dnnl::memory::desc matrix(Type type, index rows, index cols, index ld, bool transposed) {
  return {{rows, cols}, type, transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1}};
}

template <class Problem>
void multiply(const Problem& p, Type type, const void* a_data, const void* b_data, float* c_data) {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(cpu);
  static std::map<std::tuple<index, index, index, bool, bool>, dnnl::matmul> made;
  const auto a = matrix(type, p.m, p.k, p.lda, p.transpose_a), b = matrix(type, p.k, p.n, p.ldb, p.transpose_b),
             c = matrix(Type::f32, p.m, p.n, p.ldc, false);
  auto found = made.find({p.m, p.n, p.k, p.transpose_a, p.transpose_b});
  if (found == made.end()) {
    const dnnl::matmul::primitive_desc description({a, b, c}, cpu);
    found = made.emplace(std::tuple(p.m, p.n, p.k, p.transpose_a, p.transpose_b), dnnl::matmul(description)).first;
  }
  const auto memory = [](const dnnl::memory::desc& of, const void* data) { return dnnl::memory(of, cpu, const_cast<void*>(data)); };
  found->second.execute(stream,
                        {{DNNL_ARG_SRC, memory(a, a_data)}, {DNNL_ARG_WEIGHTS, memory(b, b_data)}, {DNNL_ARG_DST, memory(c, c_data)}});
  stream.wait();
}

}  // namespace

void onednn_gemm(const kernels::Gemm<float>& p) { multiply(p, Type::f32, p.a, p.b, p.c); }
void onednn_gemm(const kernels::Bf16Gemm& p) { multiply(p, Type::bf16, p.a.as_bf16(), p.b.as_bf16(), p.c.as_f32()); }

}  // namespace dikkat::bench

#else

namespace dikkat::bench {

namespace {

[[noreturn]] void refuse() { fail("oneDNN was not found when this was built, expected Debian's libdnnl-dev"); }

}  // namespace

void onednn_gemm(const kernels::Gemm<float>&) { refuse(); }
void onednn_gemm(const kernels::Bf16Gemm&) { refuse(); }

}  // namespace dikkat::bench

#endif
