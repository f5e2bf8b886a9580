// A js-waku light node that pushes by lightpush, versions 3 and 2, and reads the archive by store queries, with a js-waku relay peer
// behind the node.

import { randomBytes } from "node:crypto";

import { PUBSUB_TOPIC } from "../lib/constants.mjs";
import { connected, contentTopicOfShard, lightChecks } from "../lib/light.mjs";
import { joinMesh } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";
import { poll } from "../lib/wait.mjs";

// More than two of the largest pages.
const STORED_MESSAGES = 250;
const PAGE_MESSAGES = 100;
const PAYLOAD_BYTES = 1_000;
const NOT_PUBLISHED = {
  2: /^waku_lightpush_errors_total\{type="not_published"\}/,
  3: /^waku_lightpush_v3_errors_total\{type="not_published"\}/,
};

export async function serviceChecks({ report, levada, rest, stack, relay, transport }) {
  const group = `js-waku light services over ${transport}`;
  if (!report.wants(group)) {
    return;
  }
  const context = { levada, rest, stack, relay, transport };
  const checks = [
    ["lightpush without a relay peer is rejected, versions 3 and 2", pushesToNobody],
    ["lightpush of versions 3 and 2 reaches a js relay", pushes],
    [`${STORED_MESSAGES} messages of a js relay, read by store forward and backward`, reads],
  ];
  await lightChecks(report, group, context, checks);
}

// A light node that knows what the checks ask of the node.
function lightNode(scope, context) {
  const { Protocols } = context.stack;
  return connected(scope, context, [Protocols.LightPush, Protocols.Store]);
}

// A js-waku relay peer in the mesh of the node.
async function relayPeer(scope, { relay, levada, transport, made }) {
  const way = transport === "ws" ? "ws" : "tcp";
  const peer = await relay.makePeer({ transport: way, muxer: way === "tcp" ? "yamux" : "mplex" });
  made.push(peer);
  await joinMesh(scope, peer, { address: levada[way], peerId: levada.peerId });
  return peer;
}

async function push(scope, light, contentTopic, payload, useLegacy) {
  const encoder = light.createEncoder({ contentTopic });
  expect(encoder.pubsubTopic === PUBSUB_TOPIC, `js-waku assigns ${contentTopic} to ${encoder.pubsubTopic}`);
  scope.waitingFor(`the answer to lightpush of version ${useLegacy ? 2 : 3}`);
  return light.lightPush.send(encoder, { payload }, { autoRetry: false, useLegacy });
}

async function pushesToNobody(scope, context) {
  const light = await lightNode(scope, context);
  // Peers of an earlier check may still be on their way out.
  const fails = async (useLegacy) => {
    const { successes, failures } = await push(scope, light, contentTopicOfShard(), randomBytes(100), useLegacy);
    return successes.length === 0 && failures.map(({ error }) => String(error)).join(",");
  };
  for (const useLegacy of [false, true]) {
    const counted = NOT_PUBLISHED[useLegacy ? 2 : 3];
    const before = await context.rest.metric(counted);
    const error = await poll(scope, "lightpush to fail for want of relay peers", () => fails(useLegacy));
    // js-waku tells its user no more than this, whatever the node's status is.
    expect(error === "Remote peer rejected", `it failed with ${error}`);
    expect((await context.rest.metric(counted)) > before, "the node did not count the message as not published");
  }
}

async function pushes(scope, context) {
  const [light, peer] = [await lightNode(scope, context), await relayPeer(scope, context)];
  for (const useLegacy of [false, true]) {
    const contentTopic = contentTopicOfShard();
    const inbox = peer.inbox(contentTopic);
    const payload = randomBytes(PAYLOAD_BYTES);
    const { successes, failures } = await push(scope, light, contentTopic, payload, useLegacy);
    const errors = failures.map(({ error }) => String(error)).join(",");
    expect(successes.length === 1, `nothing was published: ${errors}`);
    await inbox.first(scope, "the pushed message at the js relay", (message) => message.payload.equals(payload));
    const stored = await context.rest.stored(contentTopic);
    expect(stored.length === 1 && stored[0].payload.equals(payload), "the pushed message is not in the archive as it was");
  }
}

async function reads(scope, context) {
  const [light, peer] = [await lightNode(scope, context), await relayPeer(scope, context)];
  const contentTopic = contentTopicOfShard();
  const sent = [];
  for (let number = 0; number < STORED_MESSAGES; number += 1) {
    sent.push(await peer.publish(contentTopic, randomBytes(PAYLOAD_BYTES)));
  }
  await poll(scope, `${STORED_MESSAGES} messages in the archive`, async () => {
    return (await context.rest.storedByHash(sent.slice(-1))).length === 1;
  });
  const decoder = context.stack.decoderOf(light, contentTopic);
  for (const paginationForward of [true, false]) {
    const pages = await pagesOf(scope, light, decoder, paginationForward);
    expect(pages.length === Math.ceil(STORED_MESSAGES / PAGE_MESSAGES), `${pages.length} pages`);
    for (const page of pages) {
      expect(isAscending(page.map(({ timestamp }) => timestamp)), "a page is not ascending in time");
    }
    const found = pages.flat().map(({ hash }) => hash).sort();
    expect(found.join() === [...sent].sort().join(), `${found.length} messages, or others than were sent`);
    const [first, last] = [pages[0], pages.at(-1)].map((page) => page[0].timestamp);
    expect(paginationForward ? first <= last : first >= last, "the pages come in the wrong order");
  }
}

// Every page that js-waku reads, by cursors of its own making, until one is empty.
async function pagesOf(scope, light, decoder, paginationForward) {
  const pages = [];
  scope.waitingFor("the pages of a store query");
  for await (const page of light.store.queryGenerator([decoder], { paginationForward, paginationLimit: PAGE_MESSAGES })) {
    const messages = await Promise.all(page);
    pages.push(messages.map(({ hashStr, timestamp }) => ({ hash: hashStr.replace(/^0x/, ""), timestamp: timestamp.getTime() })));
  }
  return pages;
}

function isAscending(values) {
  return values.every((value, index) => index === 0 || values[index - 1] <= value);
}
