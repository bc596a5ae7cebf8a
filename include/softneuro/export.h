// Which symbols leave the shared library.
#pragma once

#if defined(SOFTNEURO_SHARED) && defined(_WIN32)
#if defined(SOFTNEURO_BUILDING)
#define SN_API __declspec(dllexport)
#else
#define SN_API __declspec(dllimport)
#endif
#elif defined(SOFTNEURO_SHARED)
#define SN_API __attribute__((visibility("default")))
#else
#define SN_API
#endif

// Exported for in-tree targets only (importers, the tool, library plugins).
// Their headers are not installed and carry no promise of compatibility.
#define SN_INTREE SN_API
