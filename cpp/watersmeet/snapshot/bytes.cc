#include "watersmeet/snapshot/bytes.h"

#include <array>

namespace watersmeet {
namespace {

constexpr std::string_view kMagic = "WMEETSNP";
constexpr std::size_t kHeaderSize = 8 + 4 + 8;

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0xEDB88320U : crc >> 1;
    table[byte] = crc;
  }
  return table;
}

std::uint32_t crc32(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ (crc >> 8);
  return ~crc;
}

}  // namespace

std::string seal(std::string_view body) {
  ByteWriter writer;
  for (const char letter : kMagic) writer.put(letter);
  writer.put(kSnapshotVersion);
  writer.put_string(body);
  writer.put(crc32(writer.bytes()));
  return writer.bytes();
}

std::string_view unseal(std::string_view frame) {
  if (frame.size() < kHeaderSize + 4) throw SnapshotError("snapshot: cut short");
  if (frame.substr(0, kMagic.size()) != kMagic)
    throw SnapshotError("snapshot: these bytes are not a watersmeet snapshot");
  ByteReader tail(frame.substr(frame.size() - 4));
  if (tail.get<std::uint32_t>() != crc32(frame.substr(0, frame.size() - 4))) {
    throw SnapshotError("snapshot: checksum does not match, the bytes are damaged or cut short");
  }
  ByteReader reader(frame.substr(kMagic.size(), frame.size() - kMagic.size() - 4));
  const auto version = reader.get<std::uint32_t>();
  if (version != kSnapshotVersion) {
    throw SnapshotError("snapshot: version " + std::to_string(version) + ", this library reads version " +
                        std::to_string(kSnapshotVersion));
  }
  const std::string_view body = reader.get_string();
  reader.expect_end();
  return body;
}

}  // namespace watersmeet
