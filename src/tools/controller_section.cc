#include "tools/controller_section.h"

#include <filesystem>

#include "base/endpoint_text.h"

namespace rain::tools {
namespace {

void read_path(TomlReader& reader, std::string_view key, const std::string& folder, std::string& out) {
  if (reader.text(key, out)) out = (std::filesystem::path(folder) / out).lexically_normal().string();
}

}  // namespace

ControllerSection ControllerSection::read(TomlReader& reader, const std::string& folder) {
  ControllerSection section;
  section.line = reader.line();
  reader.parsed("listen", "an address and port as a string", [&](std::string_view text) {
    const auto endpoint = parse_endpoint(text);
    if (endpoint) section.address.endpoint = *endpoint;
    const bool usable = endpoint.has_value() && endpoint->port != 0 &&
                        endpoint->address != Endpoint{}.address &&
                        endpoint->address != Endpoint::v4(0, 0, 0, 0, 0).address;
    return usable ? "" : "an address that all processes reach, such as \"10.0.0.1:9700\" or \"[::1]:9700\"";
  });
  read_path(reader, "state_file", folder, section.state_file);
  reader.duration("lease", section.lease, milliseconds(100), seconds(3600));
  control::TlsFiles& tls = section.address.tls;
  read_path(reader, "tls_certificate", folder, tls.certificate);
  read_path(reader, "tls_key", folder, tls.key);
  read_path(reader, "tls_authority", folder, tls.authority);
  reader.text("tls_name", tls.peer_name);
  reader.finish();
  const bool all = tls.used() && !tls.key.empty() && !tls.authority.empty();
  const bool none = !tls.used() && tls.key.empty() && tls.authority.empty() && tls.peer_name.empty();
  if (!all && !none) reader.refuse_table("TLS needs all of tls_certificate, tls_key and tls_authority");
  if (none && !control::is_loopback(section.address.endpoint)) {
    reader.refuse("listen",
                  "without TLS (tls_certificate, tls_key, tls_authority) only 127.0.0.0/8 and [::1]");
  }
  return section;
}

}  // namespace rain::tools
