// All of the C++ API.
#pragma once

#include "softneuro/allocator.h"
#include "softneuro/net.h"
#include "softneuro/session.h"
#include "softneuro/shape.h"
#include "softneuro/status.h"
#include "softneuro/tensor.h"
#include "softneuro/thread_pool.h"
#include "softneuro/types.h"
#include "softneuro/version.h"
