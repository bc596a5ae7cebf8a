// Windows that slide over tensors [N,C,S…], for convolutions and pools.
#pragma once

#include <string>

#include "core/layers/window.h"
#include "plugins/cuda/generate/kernel_source.h"

namespace softneuro::cuda {

// Constants of the kernel's text: kernel sizes KZ, KY, KX, strides SZ, SY, SX and dilations DZ, DY,
// DX of the three axes.
std::string window_constants(const Window& window);

// Statements that give the place of element `i` of a tensor as variables n, c, oz, oy, ox.
// `shape` is of three to five dimensions; axes that it lacks are 0.
std::string place_of_element(KernelSource& source, const Shape& shape, Layout layout);

// What reads input 0: expressions of its strides, the sizes of its axes and the padding before
// them.
struct WindowInput {
  WindowInput(KernelSource& source, const Problem& problem, const Window& window);

  // Statements that begin loops over the elements under the window of output place (oz, oy, ox):
  // kz, ky, kx count the window's elements, iz, iy, ix are the places in the input, which may be
  // outside of it. Three brackets stay open.
  std::string loops() const;
  std::string is_inside() const;  // of (iz, iy, ix)
  std::string offset() const;     // of (iz, iy, ix) in a plane of a channel

  std::string data;
  std::string image, channel;  // strides
  std::string strides[kMaxSpatialAxes], sizes[kMaxSpatialAxes], pads[kMaxSpatialAxes];
};

}  // namespace softneuro::cuda
