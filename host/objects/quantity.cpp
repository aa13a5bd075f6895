// SPDX-License-Identifier: Apache-2.0
#include "host/objects/quantity.h"

#include <algorithm>
#include <limits>

#include "host/objects/selectors.h"

namespace berth {
namespace {

constexpr int kNanoDigits = 9;
/// Largest amounts: 10^28 for decimal ones (37 zeros in nano still fit 128 bits), 2^63-1 for binary suffixes.
constexpr int kDecimalCapDigits = 28;
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt64Min = std::numeric_limits<std::int64_t>::min();

/// The suffix of the digits: a power of ten, or a power of 1024.
struct Suffix {
  std::int32_t exponent10 = 0;
  int power1024 = 0;
};

std::optional<Suffix> parse_plain_suffix(std::string_view text) {
  if (text.empty()) return Suffix{};
  constexpr std::string_view kBig = "KMGTPE";
  if (text.size() == 2 && text[1] == 'i') {
    const std::size_t power = kBig.find(text[0]);
    if (power == std::string_view::npos) return std::nullopt;
    return Suffix{0, static_cast<int>(power) + 1};
  }
  if (text.size() != 1) return std::nullopt;
  switch (text[0]) {
    case 'n':
      return Suffix{-9, 0};
    case 'u':
      return Suffix{-6, 0};
    case 'm':
      return Suffix{-3, 0};
    case 'k':
      return Suffix{3, 0};
    case 'M':
      return Suffix{6, 0};
    case 'G':
      return Suffix{9, 0};
    case 'T':
      return Suffix{12, 0};
    case 'P':
      return Suffix{15, 0};
    case 'E':
      return Suffix{18, 0};
    default:
      return std::nullopt;
  }
}

/// `e3`, `E-3`, `e+3`. An exponent beyond 64 bits is no quantity. Of a smaller one upstream keeps the low 32 bits, so
/// `1e4294967297` is 10; repeated here, because an API server stores what its own parser reads.
std::optional<Suffix> parse_exponent_suffix(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  const std::optional<std::int64_t> exponent = parse_int64(text.substr(1));
  if (!exponent) return std::nullopt;
  return Suffix{static_cast<std::int32_t>(static_cast<std::uint32_t>(*exponent)), 0};
}

/// Texts without a digit (".", "m", "Ki") read as 0 where upstream takes its short path of 64 bits; its long path
/// refuses them.
bool may_lack_digits(const Suffix& suffix) { return suffix.exponent10 >= -kNanoDigits && suffix.power1024 < 5; }

/// Decimal digits, most significant first, times 1024.
void multiply_by_1024(std::string& digits) {
  int carry = 0;
  for (auto at = digits.rbegin(); at != digits.rend(); ++at) {
    const int product = (*at - '0') * 1024 + carry;
    *at = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  std::string front;
  for (; carry > 0; carry /= 10) front.insert(front.begin(), static_cast<char>('0' + carry % 10));
  digits.insert(0, front);
}

/// digits x 10^exponent as an integer, rounded away from zero, at most `cap`.
__int128 scaled(std::string_view digits, std::int64_t exponent, __int128 cap) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  bool round_up = false;
  if (exponent < 0) {
    const auto dropped = std::min<std::size_t>(static_cast<std::size_t>(-exponent), digits.size());
    round_up = digits.substr(digits.size() - dropped).find_first_not_of('0') != std::string_view::npos;
    digits.remove_suffix(dropped);
    exponent = 0;
  }
  if (static_cast<std::int64_t>(digits.size()) + exponent > kDecimalCapDigits + kNanoDigits + 1) return cap;
  __int128 value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  for (; exponent > 0; --exponent) value *= 10;
  return std::min(value + (round_up ? 1 : 0), cap);
}

__int128 decimal_cap() {
  __int128 cap = 1;
  for (int i = 0; i < kDecimalCapDigits + kNanoDigits; ++i) cap *= 10;
  return cap;
}

std::int64_t divide_away_from_zero(__int128 value, std::int64_t unit) {
  const __int128 rest = value % unit;
  const __int128 quotient = value / unit + (rest > 0 ? 1 : rest < 0 ? -1 : 0);
  if (quotient > kInt64Max) return kInt64Max;
  if (quotient < kInt64Min) return kInt64Min;
  return static_cast<std::int64_t>(quotient);
}

std::string decimal_text(__int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
  }
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::optional<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  std::string digits;
  std::int64_t fraction_digits = 0;
  bool in_fraction = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !in_fraction) {
      in_fraction = true;
    } else if (c >= '0' && c <= '9') {
      digits += c;
      if (in_fraction) ++fraction_digits;
    } else {
      break;
    }
  }
  auto suffix = parse_plain_suffix(text.substr(at));
  if (!suffix) suffix = parse_exponent_suffix(text.substr(at));
  if (!suffix) return std::nullopt;
  if (digits.empty() && !may_lack_digits(*suffix)) return std::nullopt;

  for (int i = 0; i < suffix->power1024; ++i) multiply_by_1024(digits);
  static const __int128 kDecimalCap = decimal_cap();
  const __int128 cap = suffix->power1024 > 0 ? __int128{kInt64Max} * kNanoPerUnit : kDecimalCap;
  const __int128 nano = scaled(digits, std::int64_t{kNanoDigits} + suffix->exponent10 - fraction_digits, cap);
  return Quantity{negative ? -nano : nano};
}

std::int64_t Quantity::value() const { return divide_away_from_zero(nano, kNanoPerUnit); }

std::int64_t Quantity::milli_value() const { return divide_away_from_zero(nano, kNanoPerMilli); }

Quantity Quantity::rounded_up_to_milli() const {
  const __int128 rest = nano % kNanoPerMilli;
  if (rest == 0) return *this;
  return Quantity{nano - rest + (rest > 0 ? kNanoPerMilli : 0)};
}

std::string Quantity::to_string() const {
  if (nano % kNanoPerUnit == 0) return decimal_text(nano / kNanoPerUnit);
  if (nano % kNanoPerMilli == 0) return decimal_text(nano / kNanoPerMilli) + 'm';
  if (nano % 1000 == 0) return decimal_text(nano / 1000) + 'u';
  return decimal_text(nano) + 'n';
}

}  // namespace berth
