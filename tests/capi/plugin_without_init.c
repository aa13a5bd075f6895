/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that is no plugin. */
int berth_test_plugin_without_init(void);
int berth_test_plugin_without_init(void) { return 0; }
