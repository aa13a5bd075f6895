// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth::test {

// g++ tells of sanitizers by macros, clang by features.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BERTH_IS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BERTH_IS_SANITIZED
#endif

/// A sanitizer makes the program several times slower, and its memory is not that of the program.
#if defined(BERTH_IS_SANITIZED)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace berth::test
