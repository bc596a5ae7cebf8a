// How threads wait while something is measured on as many threads as there are processors.
#pragma once

#include "softneuro/export.h"

namespace softneuro {

// While one of these lives, threads of the library's pools that wait awake keep their processors.
// Elsewhere they yield them, and where another process wants one it is gone for some milliseconds
// each time, for which a measurement that needs all threads has to wait.
class SN_INTREE UnyieldingWait {
 public:
  UnyieldingWait() noexcept;
  ~UnyieldingWait();
  UnyieldingWait(const UnyieldingWait&) = delete;
  UnyieldingWait& operator=(const UnyieldingWait&) = delete;
};

}  // namespace softneuro
