// A plugin's routine that is a net: sn_plugin_routine::build.
#pragma once

#include "core/plugin/entry.h"

namespace softneuro {

// The host's functions for `build`, called from C.
std::int32_t sn_host_net_input(const sn_plugin_net* net, std::uint32_t index) noexcept;
std::int32_t sn_host_net_constant(sn_plugin_net* net, std::int32_t type, std::int32_t rank,
                                  const std::int64_t* dims, const void* data) noexcept;
sn_plugin_params* sn_host_net_params(sn_plugin_net* net) noexcept;
void sn_host_net_layer(sn_plugin_net* net, const char* layer_type, const char* name,
                       std::uint32_t input_count, const std::int32_t* inputs,
                       std::uint32_t output_count, std::int32_t* outputs) noexcept;

std::unique_ptr<const Routine> make_plugin_childnet(std::shared_ptr<const PluginEntry> entry);

}  // namespace softneuro
