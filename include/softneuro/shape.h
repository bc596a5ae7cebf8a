// Shape: the dimensions of a tensor in memory. DynamicShape: what is known of them beforehand.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "softneuro/export.h"

namespace softneuro {

inline constexpr int kMaxRank = 8;

// Up to kMaxRank dimensions, each >= 0, which is not checked here: what takes a shape refuses a
// negative one (elements() < 0). A plain value: copying never allocates.
class SN_API Shape {
 public:
  Shape() noexcept = default;  // rank 0: a scalar, one element
  // Precondition: at most kMaxRank dimensions (more are cut off; check with fits() first).
  Shape(std::initializer_list<std::int64_t> dims) noexcept
      : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims) noexcept;  // the same precondition

  static bool fits(std::size_t rank) noexcept { return rank <= kMaxRank; }

  int rank() const noexcept { return rank_; }
  // Precondition: 0 <= axis < rank(). Not checked.
  std::int64_t operator[](int axis) const noexcept { return dims_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) noexcept { return dims_[static_cast<std::size_t>(axis)]; }
  std::span<const std::int64_t> dims() const noexcept {
    return {dims_.data(), static_cast<std::size_t>(rank_)};
  }
  // Appends a dimension. Precondition: rank() < kMaxRank.
  void push_back(std::int64_t dim) noexcept;
  // Product of all dimensions; −1 if it overflows int64 or a dimension is negative.
  std::int64_t elements() const noexcept;
  // Product of dimensions [first, last); −1 as above. Precondition: 0 <= first <= last <= rank().
  std::int64_t elements(int first, int last) const noexcept;
  bool operator==(const Shape& other) const noexcept;
  // "1x3x224x224"; "scalar" for rank 0.
  std::string str() const;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  std::uint8_t rank_ = 0;
};

// One dimension that may be unknown, or known by name only ("batch").
struct Dim {
  std::int64_t value = -1;  // −1: unknown
  std::string symbol;       // may be empty; equal symbols mean equal sizes

  Dim() = default;
  Dim(std::int64_t v) : value(v) {}  // NOLINT: implicit by intent
  explicit Dim(std::string name) : symbol(std::move(name)) {}
  bool known() const noexcept { return value >= 0; }
  // Certainly equal: same value, or same symbol.
  bool operator==(const Dim& other) const noexcept {
    return known() ? value == other.value
                   : !other.known() && !symbol.empty() && symbol == other.symbol;
  }
};

// What is known of a shape: nothing (not even the rank), or a list of dimensions.
class SN_API DynamicShape {
 public:
  DynamicShape() = default;                                                       // unknown rank
  DynamicShape(std::vector<Dim> dims) : ranked_(true), dims_(std::move(dims)) {}  // NOLINT
  DynamicShape(std::initializer_list<Dim> dims) : ranked_(true), dims_(dims) {}
  DynamicShape(const Shape& shape);  // NOLINT: implicit by intent

  bool ranked() const noexcept { return ranked_; }
  // All dimensions known.
  bool is_static() const noexcept;
  // 0 also where the rank is unknown: see ranked().
  int rank() const noexcept { return static_cast<int>(dims_.size()); }
  // Precondition: 0 <= axis < rank(). Not checked.
  const Dim& operator[](int axis) const noexcept { return dims_[static_cast<std::size_t>(axis)]; }
  Dim& operator[](int axis) noexcept { return dims_[static_cast<std::size_t>(axis)]; }
  const std::vector<Dim>& dims() const noexcept { return dims_; }
  std::vector<Dim>& dims() noexcept { return dims_; }
  // Precondition: is_static() and rank() <= kMaxRank (further dimensions are left out).
  Shape to_shape() const noexcept;
  // "batchx3x224x224", "?" for an unknown dimension, "scalar" for rank 0, "unknown" for an unknown
  // rank.
  std::string str() const;

 private:
  bool ranked_ = false;
  std::vector<Dim> dims_;
};

}  // namespace softneuro
