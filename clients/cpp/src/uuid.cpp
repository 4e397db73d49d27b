#include "uuid.h"

#include <random>

namespace muster {

std::string new_uuid() {
  static const char digits[] = "0123456789abcdef";
  std::random_device random;
  std::string out;
  std::uint32_t bits = 0;
  for (int i = 0; i < 32; i++) {
    if (i % 8 == 0) bits = random();
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    unsigned digit = bits >> (4 * (i % 8)) & 15;
    if (i == 12) digit = 4;                // the version
    if (i == 16) digit = 8 | (digit & 3);  // the variant of RFC 9562
    out += digits[digit];
  }
  return out;
}

}  // namespace muster
