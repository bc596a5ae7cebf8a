// What each output pixel of a convolution sees, as pointers into the input: the rows of A in its
// product with the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/gemm/gemm_operands.h"
#include "routines/conv2/geometry.h"

namespace softneuro {

// One run of A's rows: a position of the kernel, all of its channels that are contiguous.
struct ConvSegment {
  std::int64_t z = 0, y = 0, x = 0;  // from the window's first element, in input elements
  std::int64_t offset = 0;           // the same in elements, and to the channels' block
};

// How a convolution's input is read; made once per kernel.
class ConvRows {
 public:
  // `layout`: channels_last, nchw8c or nchw16c. In the blocked ones, groups must be whole blocks.
  ConvRows(const ConvGeometry& geometry, Layout layout);
  // For point_bytes(): layout channels_last, a segment is a kernel position.
  static ConvRows of_bytes(const ConvGeometry& geometry);

  std::int64_t segments() const noexcept { return static_cast<std::int64_t>(segments_.size()); }
  std::int64_t length() const noexcept { return length_; }
  bool needs_zeros() const noexcept { return padded_; }
  // What GemmOperands::point asks for. x: the image's and group's
  // first element; zeros: length() elements, if needs_zeros(). T: float, Half or
  // BFloat16.
  template <class T>
  void point(const GemmRows& rows, const T* x, const T* zeros, const T** pointers,
             T* scratch) const noexcept;
  // Output positions [row, row + rows), counted over all images: pointers[s · segment_stride +
  // r · row_stride]. x: the group's first element; zeros: what the padding points at.
  void point_bytes(std::int64_t row, std::int64_t rows, const std::uint8_t* x,
                   const std::uint8_t* zeros, const std::uint8_t** pointers,
                   std::int64_t segment_stride, std::int64_t row_stride) const noexcept;

 private:
  ConvRows(const ConvGeometry& geometry, Layout layout, bool merged);
  // Where pointers of one image's rows go.
  template <class T>
  struct Pointers {
    const T** first;
    std::int64_t segment_stride, row_stride;
  };
  template <class T>
  void point_segments(const ConvSegment* segments, std::int64_t count, std::int64_t row,
                      std::int64_t rows, const T* x, const T* zeros, const Pointers<T>& to,
                      T* scratch) const noexcept;
  // Where the window of an output pixel begins.
  struct Origin {
    std::int64_t column = 0;  // of the output
    std::int64_t z = 0, y = 0, x = 0;
    std::int64_t offset = 0;  // of that input element in memory
  };
  Origin origin(std::int64_t row) const noexcept;
  void place(Origin& at) const noexcept;
  void advance(Origin& at, std::int64_t count) const noexcept;
  std::int64_t pixels_inside(const Origin& at) const noexcept;
  template <class T>
  const T* border_pointer(const ConvSegment& segment, const Origin& at, const T* x, const T* zeros,
                          T*& scratch) const noexcept;

  Window window_;
  std::int64_t pixel_ = 0;  // elements of memory from one input element of a row to the next
  std::int64_t length_ = 0;
  bool merged_ = false;  // a segment is a whole row of the kernel
  bool padded_ = false;
  std::int64_t inside_end_ = 0;  // first output column whose window sticks out at the right
  bool contiguous_ = false;      // output pixels see input pixels one by one
  std::vector<ConvSegment> segments_;
};

}  // namespace softneuro
