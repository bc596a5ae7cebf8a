// The file of a model, and those that it refers to: the one place that opens them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/file_mapping.h"

namespace softneuro {

// Maps the file at `location`, a path relative to `folder`. A model must not reach outside of its
// folder: absolute paths, "..", symbolic links, files with several hard links and everything but
// regular files are refused. Each component is opened by itself, below the one before, so that
// nothing can be exchanged between the check and the use. `folder` itself is the user's choice.
Result<FileBytes> map_contained_file(const std::string& folder, std::string_view location,
                                     Allocator& allocator);

// The folder of a file: "models/a.onnx" → "models", "a.onnx" → ".".
std::string folder_of(const std::string& path);

// What f(bytes, folder) makes of a model's file; its errors name the file. Null: the default
// allocator.
template <class F>
auto with_file(const std::string& path, Allocator* allocator, F&& f) noexcept {
  using Made = decltype(f(std::span<const std::byte>(), path));
  return guarded([&]() -> Made {
    Allocator& memory = allocator != nullptr ? *allocator : default_allocator();
    SN_ASSIGN_OR_RETURN(const FileBytes file, map_file(path, memory));
    Made made = f(file.bytes, folder_of(path));
    if (made.ok()) return made;
    return Status(made.status()).with_context(fmt::format("'{}'", path));
  });
}

}  // namespace softneuro
