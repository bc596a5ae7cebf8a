// Which file of this process a piece of code is in.
#pragma once

#include <string>

#include "softneuro/export.h"

namespace softneuro {

// The path, as the loader knows it, of the library or program that has `address`; empty if that
// cannot be told.
SN_INTREE std::string file_of(const void* address);

template <class R, class... A>
std::string file_of(R (*function)(A...)) {
  return file_of(reinterpret_cast<const void*>(function));
}

// That of libsoftneuro, or of the program that it is linked into.
SN_INTREE std::string library_file();

}  // namespace softneuro
