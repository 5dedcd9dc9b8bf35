-- Dissects Rain's packets (R2P2 in both layouts, Rain's extensions) in Wireshark and tshark. docs/protocol.md describes
-- every field.
--
--   tshark -X lua_script:tools/wireshark/rain.lua -i lo -f udp -Y rain
--
-- Packets are recognised on any UDP port by their base header. To see also those whose base header is wrong, name the
-- port: right-click, "Decode As", RAIN; or `tshark -d udp.port==9000,rain`.

local rain = Proto("rain", "Rain (R2P2)")

local LAYOUTS = { [0x52] = "type in byte 2", [0xCC] = "reference implementation" }
local TYPES = {
  [0] = "REQUEST", [1] = "REPLY", [2] = "FEEDBACK", [3] = "REQREADY", [4] = "DROP", [8] = "SACK", [9] = "SYNC",
  [10] = "SYNC_ACK", [11] = "PULL", [12] = "FETCH", [13] = "FETCHED",
}
local POLICIES = { [0] = "UNRESTRICTED", [1] = "STICKY" }
-- The names of src/base/drop_reasons.h; the test compares them.
local REASONS = {
  [0] = "none", [1] = "truncated_header", [2] = "bad_magic", [3] = "bad_header_size", [4] = "unknown_type",
  [5] = "unknown_policy", [6] = "bad_packet_count", [7] = "truncated_extension", [8] = "oversized_payload",
  [9] = "unexpected_message", [10] = "unknown_task_type", [11] = "unknown_worker", [12] = "address_mismatch",
  [13] = "bad_token_key", [14] = "stale_epoch", [15] = "bad_level", [16] = "duplicate_token",
  [17] = "token_queue_full", [18] = "stale_token", [19] = "queue_full", [20] = "payload_store_full",
  [21] = "no_workers", [22] = "policy_unsupported", [23] = "multi_packet_unsupported", [24] = "worker_queue_full",
  [25] = "stale_dispatch", [26] = "deadline_passed", [27] = "unknown_request", [28] = "shutting_down",
  [29] = "send_failed", [30] = "recirculation_limit", [31] = "handler_failed", [32] = "no_task",
  [33] = "slice_removed",
  [34] = "generation_leap",
}

local BASE_BYTES = 8
local MAX_PAYLOAD_BYTES = 1400

local f = {
  magic = ProtoField.uint8("rain.magic", "Magic", base.HEX, LAYOUTS),
  header_size = ProtoField.uint8("rain.header_size", "Header size (bytes)"),
  type = ProtoField.uint8("rain.type", "Type", base.DEC, TYPES),
  policy = ProtoField.uint8("rain.policy", "Policy", base.DEC, POLICIES),
  first = ProtoField.bool("rain.first", "First"),
  last = ProtoField.bool("rain.last", "Last"),
  request_id = ProtoField.uint16("rain.request_id", "Request id"),
  packet_count = ProtoField.uint16("rain.packet_count", "Packet count"),
  packet_index = ProtoField.uint16("rain.packet_index", "Packet index"),
  task_type = ProtoField.uint16("rain.task_type", "Task type"),
  deadline_us = ProtoField.uint32("rain.deadline_us", "Deadline (us)"),
  client = ProtoField.ipv6("rain.client", "Client address"),
  client_v4 = ProtoField.ipv4("rain.client_v4", "Client address"),
  client_port = ProtoField.uint16("rain.client_port", "Client port"),
  worker = ProtoField.uint16("rain.worker", "Worker"),
  level = ProtoField.uint8("rain.level", "Level (255: none)"),
  flags = ProtoField.uint8("rain.flags", "Flags", base.HEX),
  recall = ProtoField.bool("rain.recall", "Recall", 8, nil, 0x01),
  recalled = ProtoField.bool("rain.recalled", "Recalled", 8, nil, 0x01),
  generation = ProtoField.uint32("rain.generation", "Generation"),
  switch_delay_ns = ProtoField.uint32("rain.switch_delay_ns", "Time in the switch (ns)"),
  worker_delay_ns = ProtoField.uint32("rain.worker_delay_ns", "Time in the worker's FIFO (ns)"),
  service_ns = ProtoField.uint32("rain.service_ns", "Service time (ns)"),
  queue_length = ProtoField.uint16("rain.queue_length", "Queue length (tasks)"),
  epoch = ProtoField.uint16("rain.epoch", "Epoch"),
  token_key = ProtoField.uint32("rain.token_key", "Token key", base.HEX),
  boot_id = ProtoField.uint32("rain.boot_id", "Boot id", base.HEX),
  seen = ProtoField.uint32("rain.seen", "Seen generation"),
  consumed = ProtoField.uint32("rain.consumed", "Consumed generation"),
  reserved = ProtoField.uint16("rain.reserved", "Reserved", base.HEX),
  reason = ProtoField.uint16("rain.reason", "Reason", base.DEC, REASONS),
  unknown = ProtoField.bytes("rain.unknown", "Bytes of a later version"),
  payload = ProtoField.bytes("rain.payload", "Payload"),
  malformed = ProtoField.string("rain.malformed", "Refused by receivers as"),
}
rain.fields = f

local refused = ProtoExpert.new("rain.refused", "Receivers refuse this packet", expert.group.MALFORMED,
                                expert.severity.ERROR)
rain.experts = { refused }

-- An extension is a list of {field, bytes}, in the order of the wire. Zero bytes: bits of the byte that follows.
local REQUEST = { { f.task_type, 2 }, { f.deadline_us, 4 } }
local DISPATCH = {
  { f.client, 16 }, { f.client_port, 2 }, { f.worker, 2 }, { f.level, 1 }, { f.flags, 1 }, { f.generation, 4 },
  { f.switch_delay_ns, 4 }, { f.queue_length, 2 },
}
local TOKEN = {
  { f.worker, 2 }, { f.epoch, 2 }, { f.token_key, 4 }, { f.generation, 4 }, { f.level, 1 }, { f.flags, 1 },
  { f.queue_length, 2 },
}
local SYNC = {
  { f.worker, 2 }, { f.epoch, 2 }, { f.token_key, 4 }, { f.generation, 4 }, { f.level, 1 }, { f.recall, 0 }, { f.flags, 1 },
  { f.queue_length, 2 },
}
local SYNC_ACK = {
  { f.worker, 2 }, { f.epoch, 2 }, { f.boot_id, 4 }, { f.seen, 4 }, { f.consumed, 4 }, { f.level, 1 },
  { f.recalled, 0 }, { f.flags, 1 }, { f.reserved, 2 },
}
local REPLY = {
  { f.worker, 2 }, { f.queue_length, 2 }, { f.switch_delay_ns, 4 }, { f.worker_delay_ns, 4 }, { f.service_ns, 4 },
}
local DROP = { { f.reason, 2 } }

-- type -> the extensions that follow each other, and whether the first must be there
local EXTENSIONS = {
  [0] = { { "Request", REQUEST }, { "Dispatch", DISPATCH } },
  [1] = { { "Reply", REPLY } },
  [2] = { { "Token", TOKEN } },
  [4] = { { "Drop", DROP } },
  [9] = { { "Token", SYNC }, required = true },
  [10] = { { "Sync ack", SYNC_ACK }, required = true },
  [11] = { { "Token", TOKEN }, required = true },
}
local COUNTED = { [0] = true, [1] = true, [13] = true }

local function size_of(extension)
  local size = 0
  for _, part in ipairs(extension) do size = size + part[2] end
  return size
end

-- The base header as numbers, and the reason for which receivers refuse it, nil if they do not.
local function parse_base(buffer)
  if buffer:len() < BASE_BYTES then return nil, "truncated_header" end
  local magic, bits = buffer(0, 1):uint(), buffer(3, 1):uint()
  if not LAYOUTS[magic] then return nil, "bad_magic" end
  local h = { header_size = buffer(1, 1):uint(), packet = buffer(6, 2):uint() }
  if magic == 0x52 then
    h.type, h.policy, h.type_at, h.policy_at = buffer(2, 1):uint(), bit.rshift(bits, 5), 2, 3
    h.first, h.last = bit.band(bits, 0x10) ~= 0, bit.band(bits, 0x08) ~= 0
  else
    local both = buffer(2, 1):uint()
    h.type, h.policy, h.type_at, h.policy_at = bit.rshift(both, 4), bit.band(both, 0x0F), 2, 2
    h.first, h.last = bit.band(bits, 0x80) ~= 0, bit.band(bits, 0x40) ~= 0
  end
  if h.header_size < BASE_BYTES or h.header_size > buffer:len() then return h, "bad_header_size" end
  if not TYPES[h.type] then return h, "unknown_type" end
  if not POLICIES[h.policy] then return h, "unknown_policy" end
  if h.first and h.packet == 0 and COUNTED[h.type] then return h, "bad_packet_count" end
  return h, nil
end

local function add_client(tree, range)
  if tostring(range(0, 12):bytes()):upper() == "00000000000000000000FFFF" then
    tree:add(f.client_v4, range(12, 4))
  else
    tree:add(f.client, range)
  end
end

local function add_extension(tree, name, extension, range)
  local branch = tree:add(range, name)
  local at = 0
  for _, part in ipairs(extension) do
    local field, bytes = part[1], part[2]
    if field == f.client then
      add_client(branch, range(at, bytes))
    else
      branch:add(field, range(at, math.max(bytes, 1)))
    end
    at = at + bytes
  end
end

-- Adds the extensions; returns the reason for which receivers refuse them, nil if they do not.
local function add_extensions(tree, buffer, h)
  local list = EXTENSIONS[h.type] or {}
  local at = BASE_BYTES
  for index, extension in ipairs(list) do
    local size = size_of(extension[2])
    if h.header_size < at + size then
      if h.header_size > at or (index == 1 and list.required) then return "truncated_extension" end
      return nil
    end
    add_extension(tree, extension[1], extension[2], buffer(at, size))
    at = at + size
  end
  if h.header_size > at then tree:add(f.unknown, buffer(at, h.header_size - at)) end
  return nil
end

local function refuse(tree, pinfo, reason)
  tree:add(f.malformed, reason):set_generated()
  tree:add_proto_expert_info(refused, "Receivers refuse this packet: " .. reason)
  pinfo.cols.info = "refused: " .. reason
end

local function info_of(h, buffer)
  local name = TYPES[h.type]
  if h.type == 0 and h.header_size >= 46 then name = "REQUEST (dispatch)" end
  local text = string.format("%s id %d", name, buffer(4, 2):uint())
  if h.type == 0 and h.header_size >= 14 then text = text .. string.format(" task type %d", buffer(8, 2):uint()) end
  local has_token = (h.type == 2 or h.type == 9 or h.type == 11) and h.header_size >= 24
  if has_token then
    text = text .. string.format(" worker %d level %d generation %d", buffer(8, 2):uint(), buffer(20, 1):uint(),
                                 buffer(16, 4):uint())
  end
  if h.type == 4 and h.header_size >= 10 then
    text = text .. " " .. (REASONS[buffer(8, 2):uint()] or "unknown reason")
  end
  return text
end

function rain.dissector(buffer, pinfo, root)
  pinfo.cols.protocol = "RAIN"
  local tree = root:add(rain, buffer())
  local h, reason = parse_base(buffer)
  if h then
    tree:add(f.magic, buffer(0, 1))
    tree:add(f.header_size, buffer(1, 1))
    tree:add(f.type, buffer(h.type_at, 1), h.type)
    tree:add(f.policy, buffer(h.policy_at, 1), h.policy)
    tree:add(f.first, buffer(3, 1), h.first)
    tree:add(f.last, buffer(3, 1), h.last)
    tree:add(f.request_id, buffer(4, 2))
    tree:add(h.first and f.packet_count or f.packet_index, buffer(6, 2))
  end
  if reason then return refuse(tree, pinfo, reason) end

  pinfo.cols.info = info_of(h, buffer)
  reason = add_extensions(tree, buffer, h)
  if reason then return refuse(tree, pinfo, reason) end
  local payload_bytes = buffer:len() - h.header_size
  if payload_bytes > 0 then tree:add(f.payload, buffer(h.header_size)) end
  if payload_bytes > MAX_PAYLOAD_BYTES then refuse(tree, pinfo, "oversized_payload") end
end

-- Takes a packet on any port if all of its base header is valid.
local function heuristic(buffer, pinfo, root)
  local _, reason = parse_base(buffer)
  if reason then return false end
  rain.dissector(buffer, pinfo, root)
  return true
end

rain:register_heuristic("udp", heuristic)
DissectorTable.get("udp.port"):add_for_decode_as(rain)
