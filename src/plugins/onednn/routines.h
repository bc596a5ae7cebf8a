// The routines over oneDNN: one function per file of routines.
#pragma once

#include "core/routine/registry.h"

namespace softneuro::onednn {

Status register_float(Registry& registry);
Status register_qint8(Registry& registry);
Status register_batch_norm(Registry& registry);
Status register_binary(Registry& registry);
Status register_pool2(Registry& registry);
Status register_recurrent(Registry& registry);
Status register_reduce(Registry& registry);
Status register_resize(Registry& registry);
Status register_softmax(Registry& registry);
Status register_unary(Registry& registry);

// All of them; nothing if they are there already. unsupported if the library that was found at run
// time cannot be used: then nothing is added.
Status add_routines(Registry& registry);

}  // namespace softneuro::onednn
