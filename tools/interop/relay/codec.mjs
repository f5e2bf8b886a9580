// js-waku's own message encoding and message hash, for the peers that have none.

import "../lib/polyfill.mjs";

import { messageHash } from "@waku/message-hash";
import { proto_message } from "@waku/proto";

export function encode(message) {
  return proto_message.WakuMessage.encode(message);
}

export function decode(bytes) {
  return proto_message.WakuMessage.decode(bytes);
}

// Lower-case hex.
export function hashOf(pubsubTopic, message) {
  return Buffer.from(messageHash(pubsubTopic, message)).toString("hex");
}
