#include "control/rpc/security.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "base/endpoint_text.h"
#include "control/rpc/credentials.h"

namespace rain::control {
namespace {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;

Bio bio_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// An encrypted key would ask at a terminal that a service does not have.
int no_password(char*, int, int, void*) { return 0; }

std::string date_problem(const std::string& path, const X509& certificate, std::int64_t unix_seconds) {
  auto now = static_cast<time_t>(unix_seconds);
  if (X509_cmp_time(X509_get0_notAfter(&certificate), &now) < 0)
    return path + ": the certificate has expired";
  if (X509_cmp_time(X509_get0_notBefore(&certificate), &now) > 0)
    return path + ": the certificate is not valid yet";
  return {};
}

std::string files_problem(const TlsFiles& files, std::int64_t unix_seconds) {
  if (files.key.empty() || files.authority.empty() || files.certificate.empty())
    return "TLS needs all of tls_certificate, tls_key and tls_authority";
  for (const std::string& path : {files.certificate, files.key, files.authority}) {
    if (!read_pem(path)) return path + ": cannot be read";
  }
  const Certificate certificate(
      PEM_read_bio_X509(bio_of(*read_pem(files.certificate)).get(), nullptr, no_password, nullptr));
  if (!certificate) return files.certificate + ": is no certificate in PEM";
  const Certificate authority(
      PEM_read_bio_X509(bio_of(*read_pem(files.authority)).get(), nullptr, no_password, nullptr));
  if (!authority) return files.authority + ": is no certificate in PEM";
  const Key key(PEM_read_bio_PrivateKey(bio_of(*read_pem(files.key)).get(), nullptr, no_password, nullptr));
  if (!key) return files.key + ": is no private key in PEM without a password";
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return fmt::format("{}: does not belong to the certificate {}", files.key, files.certificate);
  if (auto problem = date_problem(files.certificate, *certificate, unix_seconds); !problem.empty())
    return problem;
  return date_problem(files.authority, *authority, unix_seconds);
}

}  // namespace

void silence_library() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

std::int64_t unix_seconds_now() { return wall_clock_now().value / 1'000'000'000; }

std::optional<std::string> read_pem(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream.is_open() || stream.bad()) return std::nullopt;
  return text.str();
}

std::string security_problem(const ControllerAddress& address, std::int64_t unix_seconds) {
  const TlsFiles& files = address.tls;
  if (files.used() || !files.key.empty() || !files.authority.empty())
    return files_problem(files, unix_seconds);
  if (is_loopback(address.endpoint)) return {};
  return fmt::format(
      "{} is not this machine alone: without TLS (tls_certificate, tls_key, tls_authority) only "
      "127.0.0.0/8 and [::1] are allowed",
      format_endpoint(address.endpoint));
}

}  // namespace rain::control
