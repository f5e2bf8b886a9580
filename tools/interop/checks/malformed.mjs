// Bytes that are no WakuMessage: counted, not forwarded, and no reason to stop relaying.

import { randomBytes } from "node:crypto";

import { freshContentTopic } from "../lib/constants.mjs";
import { joinMesh } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";
import { poll } from "../lib/wait.mjs";

const REJECTIONS = /reject|invalid|malformed/i;

// Each ends in bytes of its own, since gossipsub drops what it has seen before.
function malformedMessages() {
  const unique = randomBytes(8);
  return [
    ["a payload longer than the message", Buffer.from([0x0a, 0x7f, ...unique])],
    ["a payload that is a number", Buffer.from([0x08, 0x01, 0x12, unique.length, ...unique])],
    ["a tag that does not end", Buffer.from([0x0a, unique.length, ...unique, 0xff, 0xff])],
  ];
}

export async function malformedChecks({ report, levada, rest, stack, transport }) {
  const name = `${stack.name} over ${transport}: malformed messages are counted, not forwarded, good ones go on`;
  const peers = [];
  try {
    await report.check(name, async (scope) => {
      for (let count = 0; count < 2; count += 1) {
        const peer = await stack.makePeer({ transport, muxer: "yamux" });
        peers.push(peer);
        await joinMesh(scope, peer, { address: levada[transport], peerId: levada.peerId });
      }
      await exchange(scope, rest, peers);
    });
  } finally {
    await Promise.allSettled(peers.map((peer) => peer.stop()));
  }
}

async function exchange(scope, rest, [sender, observer]) {
  const before = await rest.metric(REJECTIONS);
  const malformed = malformedMessages();
  for (const [, bytes] of malformed) {
    await sender.publishRaw(bytes);
  }
  await poll(scope, `${malformed.length} rejections in /metrics`, async () => {
    return (await rest.metric(REJECTIONS)) >= before + malformed.length;
  });
  const contentTopic = freshContentTopic();
  const inbox = observer.inbox(contentTopic);
  const payload = randomBytes(100);
  await sender.publish(contentTopic, payload);
  const message = await inbox.first(scope, "a good message after the malformed ones", () => true);
  expect(message.payload.equals(payload), "the good message arrived changed");
  for (const [what, bytes] of malformed) {
    expect(observer.raw.count((seen) => seen.equals(bytes)) === 0, `the node forwarded ${what}`);
  }
}
