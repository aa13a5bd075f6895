/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Expectations of tests that are written in C: a failure is printed, and the program goes on. */

#include <stdio.h>
#include <string.h>

#include "include/berth/berth.h"

extern int failures;

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

#define EXPECT_STATUS(expected, call)                                                                         \
  do {                                                                                                        \
    berth_error error = BERTH_ERROR_INIT;                                                                     \
    const berth_status status = (call);                                                                       \
    if (status != (expected)) {                                                                               \
      printf("%s:%d: got %s, expected %s from %s\n  %s: %s\n", __FILE__, __LINE__, berth_status_name(status), \
             #expected, #call, error.object, error.text);                                                     \
      ++failures;                                                                                             \
    }                                                                                                         \
    if (status < 0 && (error.code != status || error.text[0] == '\0')) {                                      \
      printf("%s:%d: the error struct does not tell of %s\n", __FILE__, __LINE__, berth_status_name(status)); \
      ++failures;                                                                                             \
    }                                                                                                         \
  } while (0)
