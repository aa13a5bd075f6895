// SPDX-License-Identifier: Apache-2.0
#include "host/objects/text/zstd_bytes.h"

#include <zstd.h>

#include <stdexcept>

namespace berth {

std::string zstd_compressed(std::string_view bytes, int level) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

}  // namespace berth
