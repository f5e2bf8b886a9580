// What REST takes at most: the size that its frame leaves for a message.

import { randomBytes } from "node:crypto";

import { freshContentTopic, MESSAGE_BYTES_MAX } from "../lib/constants.mjs";
import { joinMesh } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";

const PROBE_BYTES = 140_000;

export async function limitChecks({ report, levada, rest, stack }) {
  await report.check(`REST: a message of ${MESSAGE_BYTES_MAX} bytes is sent, one more is refused with the limit`, async (scope) => {
    const peer = await stack.makePeer({ transport: "tcp", muxer: "yamux" });
    try {
      await joinMesh(scope, peer, { address: levada.tcp, peerId: levada.peerId });
      await exact(scope, rest, peer);
    } finally {
      await peer.stop();
    }
  });
}

async function exact(scope, rest, peer) {
  const contentTopic = freshContentTopic();
  const post = async (payloadBytes) => {
    const payload = randomBytes(payloadBytes);
    const { status, text } = await rest.tryPublish(contentTopic, payload);
    return { status, text, has: (seen) => seen.includes(payload) };
  };
  const probe = await post(PROBE_BYTES);
  expect(probe.status === 200, `a message of ${PROBE_BYTES} bytes was answered ${probe.status}: ${probe.text}`);
  const arrived = await peer.raw.first(scope, "the probe at the peer", probe.has);
  const payloadBytesMax = MESSAGE_BYTES_MAX - (arrived.length - PROBE_BYTES);
  const tooLarge = await post(payloadBytesMax + 1);
  expect(tooLarge.status === 400, `one byte too many was answered ${tooLarge.status}`);
  expect(tooLarge.text.includes(String(MESSAGE_BYTES_MAX)), `the answer does not name the limit: ${tooLarge.text}`);
  const fits = await post(payloadBytesMax);
  expect(fits.status === 200, `the largest message was answered ${fits.status}: ${fits.text}`);
  const largest = await peer.raw.first(scope, "the largest message at the peer", fits.has);
  expect(largest.length === MESSAGE_BYTES_MAX, `the largest message has ${largest.length} bytes`);
}
