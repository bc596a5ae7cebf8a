// Opening files without touching what belongs to the host: its standard descriptors, its children.
#pragma once

#include <string>

namespace softneuro {

// open(2) with O_CLOEXEC. Never gives 0, 1 or 2: in a host that has closed those, what it prints
// would else end up in our file. −1 and errno on failure.
int open_descriptor(const char* path, int flags, unsigned mode) noexcept;

// "No space left on device", … Thread safe.
std::string error_text(int error_number);

}  // namespace softneuro
