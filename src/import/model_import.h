// Which formats models may have, and what the targets of this source tree do with a model beyond
// Net::import.
#pragma once

#include <span>
#include <string>

#include "import/build/format.h"

namespace softneuro {

// Those that this build can import.
SN_INTREE std::span<const build::Format> known_formats();

// Net::import_memory of a model in one of `formats`. The content tells which, never a name.
// `folder`: of files beside the model.
SN_INTREE Result<Net> import_net(std::span<const std::byte> bytes, const std::string& folder,
                                 const NetOptions& options, const ImportOptions& import_options,
                                 std::span<const build::Format> formats = known_formats()) noexcept;

// Everything in the model that cannot be imported, at once. Fails only where the file itself cannot
// be read.
SN_INTREE Result<build::ImportReport> check_model(
    const std::string& path, const ImportOptions& options,
    std::span<const build::Format> formats = known_formats()) noexcept;

}  // namespace softneuro
