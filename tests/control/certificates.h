// Certificates for tests: an authority, and those that it signs, for 127.0.0.1.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <string>

#include "control/rpc/security.h"
#include "control/temporary_folder.h"

namespace rain::control::testing {

class Authority {
 public:
  explicit Authority(const std::string& name) : name_(name), key_(EVP_EC_gen("P-256")) {
    certificate_ = sign(name, key_, -3600, 3600, true);
    write("authority.pem", certificate_);
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
  ~Authority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }

  /// Files of a party. Valid for that many seconds from `begin_s`, from now.
  TlsFiles issue(const std::string& name, long begin_s = -3600, long end_s = 3600) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = sign(name, key, begin_s, end_s, false);
    write(name + ".pem", certificate);
    std::FILE* file = std::fopen(folder_.file(name + ".key").c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return {folder_.file(name + ".pem"), folder_.file(name + ".key"), folder_.file("authority.pem"), ""};
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  X509* sign(const std::string& name, EVP_PKEY* key, long begin_s, long end_s, bool is_authority) {
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(certificate), begin_s);
    X509_gmtime_adj(X509_getm_notAfter(certificate), end_s);
    X509_set_pubkey(certificate, key);
    name_of(X509_get_subject_name(certificate), name);
    name_of(X509_get_issuer_name(certificate), name_);
    extend(certificate, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!is_authority) extend(certificate, NID_subject_alt_name, "IP:127.0.0.1");
    X509_sign(certificate, key_, EVP_sha256());
    return certificate;
  }
  static void name_of(X509_NAME* to, const std::string& name) {
    X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                               -1, -1, 0);
  }
  static void extend(X509* certificate, int kind, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  void write(const std::string& name, X509* certificate) const {
    std::FILE* file = std::fopen(folder_.file(name).c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
  }

  TemporaryFolder folder_;
  std::string name_;
  EVP_PKEY* key_;
  X509* certificate_ = nullptr;
  long serial_ = 0;
};

}  // namespace rain::control::testing
