// Convolution as a product of what each output pixel sees with the weights, without im2col: the
// tiles' rows are pointers into the input. Serves cpu/direct of every layout.
#pragma once

#include <vector>

#include "cpu/gemm/blocked_gemm.h"
#include "routines/conv2/geometry.h"

namespace softneuro {

// One run of A's rows: a position of the kernel, all of its channels that lie side by side.
struct ConvSegment {
  std::int64_t z = 0, y = 0, x = 0;  // from the window's first element, in input elements
  std::int64_t offset = 0;           // the same in elements, and to the channels' block
};

// How a convolution's input is read; made once per kernel.
class ConvRows {
 public:
  ConvRows() = default;
  // `layout`: channels_last, nchw8c or nchw16c. In the blocked ones, groups must be whole blocks.
  ConvRows(const ConvGeometry& geometry, Layout layout);

  std::int64_t segments() const noexcept { return static_cast<std::int64_t>(segments_.size()); }
  std::int64_t length() const noexcept { return length_; }
  bool needs_zeros() const noexcept { return padded_; }
  // What GemmOperands::point asks for, and PackedOperands::point. x: the image's and group's
  // first element; zeros: length() elements, if needs_zeros(). T: float or Half.
  template <class T>
  void point(const GemmRows& rows, const T* x, const T* zeros, const T** pointers,
             T* scratch) const noexcept;

 private:
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

// The parameters of the product for a convolution whose weights are kept in elements of so many
// bytes.
ParamSpace conv_gemm_space(const Problem& problem, std::int64_t element_bytes);

// The routine cpu:<type>:<layout>/direct of conv1, conv2 or conv3, in channels_last, nchw8c or
// nchw16c: tiles of output pixels by output channels, summed in registers over the kernel's
// positions and the input channels; 1x1 is a plain matrix product. Its parameters are the cache
// that the weights of a task should fit into (KiB), and the multiply-adds of a task. float16:
// weights are kept in 16 bits and widened in registers, x and y are converted; sums are in float32.
std::unique_ptr<Routine> make_direct_conv(std::string_view layer_type, DataType type,
                                          Layout layout);

}  // namespace softneuro
