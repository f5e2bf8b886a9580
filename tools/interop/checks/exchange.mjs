// Messages between REST, the node, its archive and peers, whoever dialled.

import { randomBytes } from "node:crypto";

import { freshContentTopic, MESSAGE_BYTES_MAX, PUBSUB_TOPIC } from "../lib/constants.mjs";
import { encodings, messageOf } from "../lib/messages.mjs";
import { expect } from "../lib/report.mjs";
import { poll } from "../lib/wait.mjs";

const SMALL_BYTES = 1_000;
const LARGE_BYTES = 150_000;

// Checks two peers that are in the node's mesh.
export async function exchangeChecks({ report, levada, rest, group, peers: [near, far] }) {
  const named = (text) => `${group}: ${text}`;
  await report.check(named("peer -> node -> archive -> REST store, same hash and bytes"), async (scope) => {
    await published(scope, rest, near, SMALL_BYTES);
  });
  await report.check(named("REST -> node -> peer"), async (scope) => {
    await posted(scope, rest, [near, far], SMALL_BYTES);
  });
  await report.check(named("peer -> node -> peer"), async (scope) => {
    await crossed(scope, near, far);
    await crossed(scope, far, near);
  });
  await report.check(named("150 kB from a peer to the archive and the other peer"), async (scope) => {
    await published(scope, rest, near, LARGE_BYTES, far);
  });
  await report.check(named("150 kB from REST to peers"), async (scope) => {
    await posted(scope, rest, [near, far], LARGE_BYTES);
  });
  await report.check(named("the largest message passes, one byte more does not, and the peer stays"), async (scope) => {
    await largest(scope, near, far, levada.peerId);
  });
  await report.check(named("the encodings of nwaku, go-waku and js-waku are relayed byte for byte"), async (scope) => {
    for (const [encoder, encoded] of encodings()) {
      await near.publishRaw(encoded);
      await far.raw.first(scope, `${encoder}'s bytes at the other peer`, (seen) => seen.equals(encoded));
    }
  });
}

// A peer publishes; the archive must hold the message once, with the hash that js-waku computes and the same bytes.
export async function published(scope, rest, from, payloadBytes, to) {
  const contentTopic = freshContentTopic();
  const payload = randomBytes(payloadBytes);
  const inbox = to?.inbox(contentTopic);
  const hash = await from.publish(contentTopic, payload);
  const stored = await poll(scope, `message ${hash} in the store`, async () => {
    const messages = await rest.stored(contentTopic);
    return messages.length > 0 && messages;
  });
  expect(stored.length === 1, `the store has ${stored.length} messages of one content topic, not 1`);
  const byHash = await rest.storedByHash([hash]);
  expect(byHash.length === 1, `the store finds ${byHash.length} messages by hash ${hash}, not 1`);
  for (const message of [stored[0], byHash[0]]) {
    expect(message.hash === hash, `the store says hash ${message.hash}, js-waku ${hash}`);
    expect(message.payload.equals(payload), "the store's payload differs from what was published");
    expect(message.contentTopic === contentTopic, `the store says content topic ${message.contentTopic}`);
    expect(message.pubsubTopic === PUBSUB_TOPIC, `the store says pubsub topic ${message.pubsubTopic}`);
  }
  if (inbox) {
    await arrival(scope, inbox, payload, hash);
  }
}

// REST publishes; every peer must receive the bytes, and the archive must know the hash that js-waku computes on receipt.
export async function posted(scope, rest, peers, payloadBytes) {
  const contentTopic = freshContentTopic();
  const payload = randomBytes(payloadBytes);
  const inboxes = peers.map((peer) => peer.inbox(contentTopic));
  await rest.publish(contentTopic, payload);
  for (const inbox of inboxes) {
    const { hash } = await arrival(scope, inbox, payload);
    const stored = await poll(scope, `message ${hash} in the store`, async () => {
      const messages = await rest.storedByHash([hash]);
      return messages.length > 0 && messages;
    });
    expect(stored[0].payload.equals(payload), "the store's payload differs from what was posted");
  }
}

// One peer publishes; the other, which only the node connects to it, must receive the same bytes.
export async function crossed(scope, from, to) {
  const contentTopic = freshContentTopic();
  const payload = randomBytes(SMALL_BYTES);
  const inbox = to.inbox(contentTopic);
  const hash = await from.publish(contentTopic, payload);
  await arrival(scope, inbox, payload, hash);
}

// The limit is that of the frame, which on this topic leaves 153 576 bytes for the message.
async function largest(scope, from, to, nodeId) {
  const [fits, tooLarge] = [messageOf(MESSAGE_BYTES_MAX), messageOf(MESSAGE_BYTES_MAX + 1)];
  await from.publishRaw(tooLarge);
  await from.publishRaw(fits);
  await to.raw.first(scope, "the largest message at the other peer", (seen) => seen.equals(fits));
  expect(to.raw.count((seen) => seen.equals(tooLarge)) === 0, "a message of one byte too many was relayed");
  expect(await from.isConnectedTo(nodeId), "the node has left the peer that sent one byte too many");
}

// The first message of a content topic of its own: it must be the one that was sent.
async function arrival(scope, inbox, payload, hash) {
  const message = await inbox.first(scope, "the message at a peer", () => true);
  expect(message.payload.equals(payload), "the payload that arrived differs from what was sent");
  expect(!hash || message.hash === hash, `arrived with hash ${message.hash}, was sent with ${hash}`);
  return message;
}
