#include "formats/parquet/codec.hpp"

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace owlet::parquet {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"uncompressed", "snappy", "gzip", "lzo",
                                                    "brotli",       "lz4",    "zstd", "lz4_raw"};
constexpr int32_t kSnappy = 1, kGzip = 2, kZstd = 6;

[[noreturn]] void fail_damaged(int32_t codec, size_t in_bytes, size_t out_bytes) {
  fail(ErrorKind::corrupt_file, "{} bytes of {} do not unpack to the {} bytes that the page's header states", in_bytes,
       kNames[static_cast<size_t>(codec)], out_bytes);
}

void decompress_snappy(std::span<const std::byte> in, std::span<std::byte> out) {
  const auto* source = reinterpret_cast<const char*>(in.data());
  size_t size = 0;
  const bool is_sized = snappy::GetUncompressedLength(source, in.size(), &size) && size == out.size();
  if (!is_sized || !snappy::RawUncompress(source, in.size(), reinterpret_cast<char*>(out.data()))) {
    fail_damaged(kSnappy, in.size(), out.size());
  }
}

}  // namespace

std::span<std::byte> PageBuffer::resize(size_t size) {
  if (size > capacity_) {
    bytes_.reset();
    capacity_ = 0;
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(size);
    capacity_ = size;
  }
  return {bytes_.get(), size};
}

struct Decompressor::State {
  ~State() {
    if (has_inflater) inflateEnd(&inflater);
    ZSTD_freeDCtx(zstd);
  }

  void decompress_gzip(std::span<const std::byte> in, std::span<std::byte> out) {
    if (!has_inflater) {
      // 32: gzip or zlib, as the header says
      check(inflateInit2(&inflater, 15 + 32) == Z_OK, ErrorKind::out_of_memory, "no memory to unpack gzip");
      has_inflater = true;
    }
    static_assert(sizeof(uInt) >= sizeof(int32_t), "a page's size fits zlib's counters");
    inflateReset(&inflater);
    inflater.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib only reads it
    inflater.avail_in = static_cast<uInt>(in.size());
    std::byte nothing{};  // zlib wants an address even for no bytes
    inflater.next_out = reinterpret_cast<Bytef*>(out.empty() ? &nothing : out.data());
    inflater.avail_out = static_cast<uInt>(out.size());
    int status = inflate(&inflater, Z_FINISH);
    while (status == Z_STREAM_END && inflater.avail_in > 0 && inflater.avail_out > 0) {  // members one after the other
      inflateReset(&inflater);
      status = inflate(&inflater, Z_FINISH);
    }
    if (status != Z_STREAM_END || inflater.avail_out > 0) fail_damaged(kGzip, in.size(), out.size());
  }

  void decompress_zstd(std::span<const std::byte> in, std::span<std::byte> out) {
    if (zstd == nullptr) zstd = ZSTD_createDCtx();
    check(zstd != nullptr, ErrorKind::out_of_memory, "no memory to unpack zstd");
    const size_t size = ZSTD_decompressDCtx(zstd, out.data(), out.size(), in.data(), in.size());
    if (ZSTD_isError(size) != 0 || size != out.size()) fail_damaged(kZstd, in.size(), out.size());
  }

  z_stream inflater{};
  bool has_inflater = false;
  ZSTD_DCtx* zstd = nullptr;
};

Decompressor::Decompressor() : state_(std::make_unique<State>()) {}
Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

void check_codec(int32_t codec) {
  if (codec == kUncompressed || codec == kSnappy || codec == kGzip || codec == kZstd) return;
  const bool is_named = codec >= 0 && static_cast<size_t>(codec) < kNames.size();
  throw Error(ErrorKind::unsupported,
              is_named ? fmt::format("pages packed with {}", kNames[static_cast<size_t>(codec)])
                       : fmt::format("pages packed with codec {}", codec),
              "write the file with snappy, zstd, gzip or uncompressed, for example with DuckDB or pyarrow");
}

void Decompressor::decompress(int32_t codec, std::span<const std::byte> in, std::span<std::byte> out) {
  switch (codec) {
    case kUncompressed:
      check(in.size() == out.size(), ErrorKind::corrupt_file,
            "a page that is not packed has {} bytes, its header says {}", in.size(), out.size());
      std::copy(in.begin(), in.end(), out.begin());
      return;
    case kSnappy:
      return decompress_snappy(in, out);
    case kGzip:
      return state_->decompress_gzip(in, out);
    case kZstd:
      return state_->decompress_zstd(in, out);
    default:
      check_codec(codec);
  }
}

}  // namespace owlet::parquet
