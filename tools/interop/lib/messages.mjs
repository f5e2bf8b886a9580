// Encoded messages, as the implementations of Waku write them.

import { randomBytes } from "node:crypto";

import { encode } from "../relay/codec.mjs";
import { freshContentTopic } from "./constants.mjs";
import { nowNs } from "./rest.mjs";

const [PAYLOAD, CONTENT_TOPIC, VERSION, TIMESTAMP, META, PROOF, EPHEMERAL] = [1, 2, 3, 10, 11, 21, 31];

// One payload by each encoder. They choose other fields to write, so each encoding has a message id of its own.
export function encodings() {
  const [payload, topic] = [randomBytes(60), Buffer.from(freshContentTopic())];
  const always = [bytes(PAYLOAD, payload), bytes(CONTENT_TOPIC, topic)];
  const time = number(TIMESTAMP, nowNs() * 2n);
  const version = number(VERSION, 0n);
  const ephemeral = number(EPHEMERAL, 0n);
  return [
    ["nwaku", Buffer.concat([...always, version, time, bytes(META, Buffer.alloc(0)), bytes(PROOF, Buffer.alloc(0)), ephemeral])],
    ["go-waku", Buffer.concat([...always, time])],
    ["js-waku", Buffer.concat([...always, version, time, ephemeral])],
  ];
}

// A message whose encoding has exactly so many bytes.
export function messageOf(encodedBytes) {
  const message = { payload: randomBytes(encodedBytes), contentTopic: freshContentTopic(), version: 0, timestamp: nowNs() };
  const excess = encode({ ...message, ephemeral: false }).length - encodedBytes;
  message.payload = message.payload.subarray(excess);
  const encoded = Buffer.from(encode({ ...message, ephemeral: false }));
  if (encoded.length !== encodedBytes) {
    throw new Error(`a message of ${encoded.length} bytes instead of ${encodedBytes}`);
  }
  return encoded;
}

function bytes(field, value) {
  return Buffer.concat([varint(BigInt(field * 8 + 2)), varint(BigInt(value.length)), value]);
}

function number(field, value) {
  return Buffer.concat([varint(BigInt(field * 8)), varint(value)]);
}

function varint(value) {
  const out = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 0x80n) {
      out.push(Number(rest));
      return Buffer.from(out);
    }
    out.push(Number(rest & 0x7fn) | 0x80);
  }
}
