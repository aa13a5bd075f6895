/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that was compiled for another version of the interface. */
#include "include/berth/plugin.h"

const berth_plugin* berth_plugin_init(void) {
  static berth_plugin plugin;
  plugin.struct_size = 16; /* its struct is another one */
  plugin.abi_version = 99;
  return &plugin;
}
