#define EIGEN_NO_MALLOC  // asserted in debug builds
#include "plugins/eigen/ops.h"

#include <Eigen/Core>
#include <Eigen/LU>

namespace softneuro::SN_ISA_NAMESPACE {
namespace {

using Index = Eigen::Index;

// Eigen's blocks of a product, in memory that is given. The result is by rows, for which the
// library computes the transposed product: its left operand is b.
class Blocks final : public Eigen::internal::level3_blocking<float, float> {
 public:
  // Without memory, only their number of elements is of use.
  Blocks(Index rows, Index depth, Index columns, float* memory = nullptr) {
    m_mc = columns;
    m_nc = rows;
    m_kc = depth;
    Eigen::internal::computeProductBlockingSizes<float, float>(m_kc, m_mc, m_nc);
    m_blockA = memory;
    if (memory != nullptr) m_blockB = memory + first_size();
  }
  Index elements() const {
    return first_size() + (m_kc * m_nc + kAligned - 1) / kAligned * kAligned;
  }

 private:
  static constexpr Index kAligned = 16;
  Index first_size() const { return (m_kc * m_mc + kAligned - 1) / kAligned * kAligned; }
};

std::int64_t workspace(std::int64_t rows, std::int64_t depth, std::int64_t columns) noexcept {
  return Blocks(rows, depth, columns).elements();
}

template <bool ATransposed, bool BTransposed>
void multiply_as(const EigenProduct& p, const float* a, const float* b, float* y,
                 float* memory) noexcept {
  constexpr int kA = ATransposed ? Eigen::ColMajor : Eigen::RowMajor;
  constexpr int kB = BTransposed ? Eigen::ColMajor : Eigen::RowMajor;
  using Stride = Eigen::OuterStride<>;
  using Y = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Y, 0, Stride> result(y, p.rows, p.columns, Stride(p.y_stride));
  const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, kA>, 0, Stride> left(
      a, p.rows, p.depth, Stride(p.a_stride));
  const Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, kB>, 0, Stride> right(
      b, p.depth, p.columns, Stride(p.b_stride));
  if constexpr (!ATransposed) {
    if (p.rows == 1) {
      result.row(0).noalias() = left.row(0) * right;
      return;
    }
  }
  constexpr Index kFewSums = 16;  // which blocks and packing are not worth
  if (p.rows * p.columns <= kFewSums) {
    result.noalias() = left.lazyProduct(right);
    return;
  }
  result.setZero();
  Blocks blocks(p.rows, p.depth, p.columns, memory);
  Eigen::internal::general_matrix_matrix_product<Index, float, kA, false, float, kB, false,
                                                 Eigen::RowMajor, 1>::run(p.rows, p.columns,
                                                                          p.depth, a, p.a_stride, b,
                                                                          p.b_stride, y, 1,
                                                                          p.y_stride, 1.0f, blocks,
                                                                          nullptr);
}

void multiply(const EigenProduct& p, const float* a, const float* b, float* y,
              float* memory) noexcept {
  if (p.a_transposed)
    p.b_transposed ? multiply_as<true, true>(p, a, b, y, memory)
                   : multiply_as<true, false>(p, a, b, y, memory);
  else
    p.b_transposed ? multiply_as<false, true>(p, a, b, y, memory)
                   : multiply_as<false, false>(p, a, b, y, memory);
}

template <int N>
double small_determinant(const float* x) noexcept {
  return Eigen::Map<const Eigen::Matrix<float, N, N>>(x).template cast<double>().determinant();
}

double determinant(const float* x, std::int64_t n, double* memory, int* swaps) noexcept {
  switch (n) {
    case 1:
      return static_cast<double>(x[0]);
    case 2:
      return small_determinant<2>(x);
    case 3:
      return small_determinant<3>(x);
    default:
      break;
  }
  // PartialPivLU, whose own vectors would come from the heap.
  Eigen::Map<Eigen::MatrixXd, Eigen::Aligned64> lu(memory, n, n);
  lu = Eigen::Map<const Eigen::MatrixXf>(x, n, n).cast<double>();
  int count = 0;
  Eigen::internal::partial_lu_impl<double, Eigen::ColMajor, int, Eigen::Dynamic>::blocked_lu(
      n, n, memory, n, swaps, count);
  const double product = lu.diagonal().prod();
  return count % 2 == 0 ? product : -product;
}

}  // namespace

extern const EigenOps kEigenOps;
const EigenOps kEigenOps = {workspace, multiply, determinant};

}  // namespace softneuro::SN_ISA_NAMESPACE
