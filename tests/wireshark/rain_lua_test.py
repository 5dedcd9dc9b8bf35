"""The Wireshark dissector against packets written out by hand: every type and field, every refusal of docs/protocol.md,
and its list of drop reasons against the source. Usage: rain_lua_test.py TSHARK REPOSITORY"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

PORT = 9000
TOKEN = "0102 0304 05060708 090a0b0c 02 00 0d0e"
TOKEN_FIELDS = {
    "worker": "258", "epoch": "772", "token_key": "0x05060708", "generation": "151653132", "level": "2", "queue_length": "3342",
}
REQUEST_FIELDS = {"task_type": "258", "deadline_us": "50595078"}
DISPATCH_FIELDS = {
    "client_port": "9000", "worker": "1800", "level": "3", "generation": "151653132", "switch_delay_ns": "219025168",
    "queue_length": "4370",
}

# (name, packet, fields that must read so); a field given as None must be absent.
FIELDS = [
    ("bare request", "5208 00 18 1234 0001",
     {"magic": "0x52", "header_size": "8", "type": "0", "policy": "0", "first": "1", "last": "1", "request_id": "4660",
      "packet_count": "1", "packet_index": None, "task_type": None, "malformed": None}),
    ("bare request, reference layout", "cc08 00 c0 1234 0001",
     {"magic": "0xcc", "type": "0", "policy": "0", "first": "1", "last": "1", "packet_count": "1"}),
    ("sticky request with payload", "520e 00 38 1234 0001 0102 03040506 c0ffee",
     {**REQUEST_FIELDS, "policy": "1", "payload": "c0:ff:ee", "client_port": None}),
    ("middle of a request", "cc08 01 00 1234 0002",
     {"policy": "1", "first": "0", "last": "0", "packet_index": "2", "packet_count": None}),
    ("dispatch", "522e 00 18 1234 0001 0102 03040506 00000000000000000000ffff0a000007 2328 0708 03 00 090a0b0c 0d0e0f10 1112",
     {**REQUEST_FIELDS, **DISPATCH_FIELDS, "client_v4": "10.0.0.7", "client": None}),
    ("dispatch for an IPv6 client",
     "cc2e 00 c0 1234 0001 0102 03040506 fd00000000000000000000000000000a 2328 0708 03 00 090a0b0c 0d0e0f10 1112",
     {**DISPATCH_FIELDS, "client": "fd00::a", "client_v4": None}),
    ("reply", "5218 01 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 aa",
     {"type": "1", "worker": "258", "queue_length": "772", "switch_delay_ns": "84281096", "worker_delay_ns": "151653132",
      "service_ns": "219025168", "payload": "aa"}),
    ("bare feedback", "5208 02 18 0000 0000", {"type": "2", "worker": None, "malformed": None}),
    ("token", "5218 02 18 0000 0001 " + TOKEN, {**TOKEN_FIELDS, "type": "2", "recall": None}),
    ("token of a later version", "521a 02 18 0000 0001 " + TOKEN + " beef", {**TOKEN_FIELDS, "unknown": "be:ef"}),
    ("request ready", "5208 03 18 1234 0001", {"type": "3"}),
    ("drop", "cc0a 40 c0 1234 0001 0013", {"type": "4", "reason": "19"}),
    ("sack", "5208 08 18 1234 0001", {"type": "8"}),
    ("sync", "cc18 90 c0 1234 0001 " + TOKEN, {**TOKEN_FIELDS, "type": "9", "recall": "0"}),
    ("sync ack", "521c 0a 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 00 0000",
     {"type": "10", "worker": "258", "epoch": "772", "boot_id": "0x05060708", "seen": "151653132", "consumed": "219025168",
      "level": "7"}),
    ("recall", "cc18 90 c0 1234 0001 0102 0304 05060708 090a0b0c 02 01 0d0e",
     {**TOKEN_FIELDS, "type": "9", "flags": "0x01", "recall": "1", "recalled": None}),
    ("recalled", "521c 0a 18 1234 0001 0102 0304 05060708 090a0b0c 0d0e0f10 07 01 0000",
     {"type": "10", "level": "7", "recalled": "1", "recall": None}),
    ("pull", "5218 0b 18 1234 0001 " + TOKEN, {**TOKEN_FIELDS, "type": "11"}),
    ("fetch", "cc08 c0 c0 1234 0001", {"type": "12"}),
    ("fetched", "5208 0d 18 1234 0001", {"type": "13"}),
]

# (packet, the reason for which receivers refuse it)
REFUSED = [
    ("5208 00 18 1234 00", "truncated_header"),
    ("5308 00 18 1234 0001", "bad_magic"),
    ("5207 00 18 1234 0001", "bad_header_size"),
    ("5209 00 18 1234 0001", "bad_header_size"),
    ("5205 05 18 1234 0001", "bad_header_size"),
    ("5208 05 18 1234 0001", "unknown_type"),
    ("cc08 e0 c0 1234 0001", "unknown_type"),
    ("5208 00 58 1234 0001", "unknown_policy"),
    ("cc08 02 c0 1234 0001", "unknown_policy"),
    ("5208 00 18 1234 0000", "bad_packet_count"),
    ("cc08 10 80 1234 0000", "bad_packet_count"),
    ("520d 00 18 1234 0001 0102 030405", "truncated_extension"),
    ("520f 00 18 1234 0001 0102 03040506 00", "truncated_extension"),
    ("5208 09 18 1234 0001", "truncated_extension"),
    ("5208 0a 18 1234 0001", "truncated_extension"),
    ("5208 0b 18 1234 0001", "truncated_extension"),
    ("5209 04 18 1234 0001 00", "truncated_extension"),
    ("5208 00 18 1234 0001" + "00" * 1401, "oversized_payload"),
]
ACCEPTED_AT_THE_LIMIT = "5208 00 18 1234 0001" + "00" * 1400


def write_capture(path, packets):
    """A pcap file of raw IPv4 packets."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for packet in packets:
            udp = struct.pack(">HHHH", 5000, PORT, 8 + len(packet), 0) + packet
            total = 20 + len(udp)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, total, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
            out.write(struct.pack("<IIII", 0, 0, total, total) + ip + udp)


def flatten(node, found):
    for key, value in node.items():
        if isinstance(value, (dict, list)):
            for part in value if isinstance(value, list) else [value]:
                flatten(part, found)
        elif key.startswith("rain."):
            found[key.removeprefix("rain.")] = value
    return found


def dissect(tshark, repository, packets, by_port):
    """One dictionary of fields a packet; None where the dissector did not take the packet."""
    with tempfile.TemporaryDirectory() as folder:
        capture = pathlib.Path(folder) / "packets.pcap"
        write_capture(capture, [bytes.fromhex(packet.replace(" ", "")) for packet in packets])
        command = [tshark, "-X", f"lua_script:{repository}/tools/wireshark/rain.lua", "-r", str(capture), "-T", "json",
                   "--no-duplicate-keys"]
        if by_port:
            command += ["-d", f"udp.port=={PORT},rain"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    layers = [packet["_source"]["layers"] for packet in json.loads(output)]
    assert len(layers) == len(packets), f"{len(packets)} packets in, {len(layers)} out"
    return [flatten(layer["rain"], {}) if "rain" in layer else None for layer in layers]


def check_fields(tshark, repository):
    rows = dissect(tshark, repository, [packet for _, packet, _ in FIELDS], by_port=False)
    for (name, _, expected), found in zip(FIELDS, rows):
        assert found is not None, f"{name}: not recognised"
        for field, value in expected.items():
            assert found.get(field) == value, f"{name}: {field} is {found.get(field)}, not {value}"
        assert "malformed" not in found, f"{name}: refused as {found.get('malformed')}"


def check_refusals(tshark, repository):
    packets = [packet for packet, _ in REFUSED] + [ACCEPTED_AT_THE_LIMIT]
    rows = dissect(tshark, repository, packets, by_port=True)
    for (packet, reason), found in zip(REFUSED, rows):
        assert found is not None and found.get("malformed") == reason, f"{packet[:60]}: {found}, not {reason}"
    assert "malformed" not in rows[-1], "a payload of exactly the limit is refused"


def check_strangers(tshark, repository):
    """Without a port, packets of other protocols are left alone."""
    strangers = ["5308 00 18 1234 0001", "52", "474554202f20485454502f312e31", "5208 05 18 1234 0001", "5208 00 18 1234 0000"]
    assert dissect(tshark, repository, strangers, by_port=False) == [None] * len(strangers)


def check_reasons(repository):
    source = (repository / "src/base/drop_reasons.h").read_text()
    script = (repository / "tools/wireshark/rain.lua").read_text()
    expected = re.findall(r'X\((\d+), k\w+, "(\w+)"', source)
    table = script[script.index("local REASONS") : script.index("local BASE_BYTES")]
    assert expected and re.findall(r'\[(\d+)\] = "(\w+)"', table) == expected, "REASONS differs from src/base/drop_reasons.h"


def main():
    tshark, repository = sys.argv[1], pathlib.Path(sys.argv[2])
    check_reasons(repository)
    check_fields(tshark, repository)
    check_refusals(tshark, repository)
    check_strangers(tshark, repository)
    print(f"{len(FIELDS)} packets dissected, {len(REFUSED)} refused")


if __name__ == "__main__":
    main()
