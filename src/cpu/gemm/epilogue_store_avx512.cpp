// Sums in float32 to results in float16 or float32.
#include "cpu/gemm/epilogue_store_loop.h"

namespace softneuro::avx512 {

void epilogue_store_half(const EpilogueStore<Half>& s) noexcept {
  store_sums(s);
}
void epilogue_store_float(const EpilogueStore<float>& s) noexcept {
  store_sums(s);
}

}  // namespace softneuro::avx512
