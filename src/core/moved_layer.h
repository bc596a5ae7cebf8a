// Routines of layers that only move elements: one kernel that copies them serves every data type,
// and every layout that it knows of.
#pragma once

#include "core/registry.h"

namespace softneuro {

// Makes the kernel that moves the elements of input 0 to the outputs, in the types and layouts of
// the problem; `unsupported` where it knows no way in those layouts.
using MakeMove = Result<std::unique_ptr<Kernel>> (*)(const Problem& problem);

// Registers `layer_type` cpu/direct in the schemas float16 and qint8 (plain) and, if `nhwc`,
// float32, float16 and qint8 with that layout. qint8 outputs whose quantisation differs from the
// input's are requantised, and take post-ops of one number. `plain_float32`: the same as
// cpu/direct, with the rank 10.
Status register_moves(Registry& registry, const char* layer_type, MakeMove make, bool nhwc,
                      bool plain_float32 = false);

}  // namespace softneuro
