#include "data/hub/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "base/error.hpp"

namespace owlet {

namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

}  // namespace

struct Digest::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(handle); }
};

std::optional<DigestKind> digest_kind_of(std::string_view etag) {
  const bool is_hex = etag.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (is_hex && etag.size() == 64) return DigestKind::sha256;
  if (is_hex && etag.size() == 40) return DigestKind::git_blob;
  return std::nullopt;
}

Digest::Digest(DigestKind kind, uint64_t size_bytes) : context_(std::make_unique<Context>()) {
  const EVP_MD* algorithm = kind == DigestKind::sha256 ? EVP_sha256() : EVP_sha1();
  check(context_->handle != nullptr && EVP_DigestInit_ex(context_->handle, algorithm, nullptr) == 1,
        ErrorKind::internal, "OpenSSL does not give a digest");
  if (kind == DigestKind::git_blob) {
    const std::string head = "blob " + std::to_string(size_bytes);
    update(std::string_view(head.c_str(), head.size() + 1));  // git's header ends in a zero byte
  }
}

Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::update(std::string_view bytes) { EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()); }

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned count = 0;
  EVP_DigestFinal_ex(context_->handle, bytes.data(), &count);
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

void digest_file(const std::filesystem::path& path, uint64_t count_bytes, Digest& digest,
                 const std::function<bool()>& should_stop) {
  std::ifstream file(path, std::ios::binary);
  check(file.is_open(), ErrorKind::io, "cannot open '{}'", path.string());
  std::vector<char> buffer(kReadBytes);
  for (uint64_t left = count_bytes; left > 0;) {
    check(!should_stop || !should_stop(), ErrorKind::cancelled, "stopped while checking '{}'", path.string());
    const auto wanted = static_cast<std::streamsize>(std::min<uint64_t>(left, buffer.size()));
    file.read(buffer.data(), wanted);
    const std::streamsize got = file.gcount();
    check(got > 0, ErrorKind::io, "'{}' ends {} bytes early while it is read", path.string(), left);
    digest.update({buffer.data(), static_cast<size_t>(got)});
    left -= static_cast<uint64_t>(got);
  }
}

std::string sha256_of_file(const std::filesystem::path& path, const std::function<bool()>& should_stop) {
  const uint64_t size = std::filesystem::file_size(path);
  Digest digest(DigestKind::sha256, size);
  digest_file(path, size, digest, should_stop);
  return digest.finish();
}

}  // namespace owlet
