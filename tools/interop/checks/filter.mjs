// js-waku light nodes that subscribe by filter: over WebSocket stock ones, which have mplex, over TCP with yamux.

import { randomBytes } from "node:crypto";

import { PUBSUB_TOPIC } from "../lib/constants.mjs";
import { connected, contentTopicOfShard, lightChecks } from "../lib/light.mjs";
import { expect } from "../lib/report.mjs";
import { Inbox, poll } from "../lib/wait.mjs";

const SUBSCRIBERS = /^waku_filter_subscriptions /;
const LARGE_BYTES = 140_000;
// What a subscriber that never reads is sent, in messages of the size above.
const FLOOD_MESSAGES = 120;

export async function filterChecks({ report, levada, rest, stack, transport }) {
  const group = `js-waku light filter over ${transport}`;
  if (!report.wants(group)) {
    return;
  }
  const context = { levada, rest, stack, transport, nodeId: stack.peerIdFromString(levada.peerId) };
  const checks = [
    ["subscribe, pushes of 100 B and 140 kB in order, ping, unsubscribe, unsubscribe all", steps],
    ["a subscriber that vanishes and returns is pushed to again", returns],
    ["a subscriber that never reads keeps no other from its pushes", neverReads],
  ];
  await lightChecks(report, group, context, checks);
}

// A light node that knows what the checks ask of the node.
function lightNode(scope, context) {
  const { Protocols } = context.stack;
  return connected(scope, context, [Protocols.Filter]);
}

// Subscribes to a content topic of the topic of the checks; messages go to the inbox.
async function subscribed(scope, light, stack, contentTopic) {
  const decoder = stack.decoderOf(light, contentTopic);
  expect(decoder.pubsubTopic === PUBSUB_TOPIC, `js-waku assigns ${contentTopic} to ${decoder.pubsubTopic}`);
  const inbox = new Inbox();
  scope.waitingFor("the answer to the subscription");
  const done = await light.filter.subscribe([decoder], ({ payload }) => inbox.put(Buffer.from(payload)));
  expect(done, "the subscription was refused");
  return { decoder, inbox };
}

async function pushed(scope, rest, contentTopic, inboxes, payloadBytes) {
  const payload = randomBytes(payloadBytes);
  await rest.publish(contentTopic, payload);
  for (const inbox of inboxes) {
    await inbox.first(scope, `a push of ${payloadBytes} bytes`, (seen) => seen.equals(payload));
  }
}

async function steps(scope, context) {
  const { rest, stack, nodeId } = context;
  const light = await lightNode(scope, context);
  const contentTopic = contentTopicOfShard();
  const { decoder, inbox } = await subscribed(scope, light, stack, contentTopic);
  for (const bytes of [100, LARGE_BYTES, 100]) {
    await pushed(scope, rest, contentTopic, [inbox], bytes);
  }
  scope.waitingFor("the answer to a ping");
  const pinged = await light.filter.protocol.ping(nodeId);
  expect(pinged.success, `the ping failed: ${pinged.failure?.error}`);
  scope.waitingFor("the end of the subscription");
  expect(await light.filter.unsubscribe([decoder]), "unsubscribing failed");
  // js-waku does not read the answer, so the node may still be at it.
  const statusOfPing = async () => (await light.filter.protocol.ping(nodeId)).failure?.error;
  await poll(scope, "a ping without a subscription to be refused", statusOfPing);
  const again = await subscribed(scope, light, stack, contentTopic);
  await pushed(scope, rest, contentTopic, [again.inbox], 100);
  const ended = await light.filter.protocol.unsubscribeAll(decoder.pubsubTopic, nodeId);
  expect(ended.success, `unsubscribe all failed: ${ended.failure?.error}`);
}

async function returns(scope, context) {
  const { rest, stack, levada, transport } = context;
  const [stays, leaves] = [await lightNode(scope, context), await lightNode(scope, context)];
  const contentTopic = contentTopicOfShard();
  const [atStays, atLeaves] = [
    await subscribed(scope, stays, stack, contentTopic),
    await subscribed(scope, leaves, stack, contentTopic),
  ];
  await pushed(scope, rest, contentTopic, [atStays.inbox, atLeaves.inbox], 1_000);
  scope.waitingFor("the light node to hang up");
  await leaves.libp2p.hangUp(context.nodeId);
  await pushed(scope, rest, contentTopic, [atStays.inbox], 1_000);
  scope.waitingFor("the connection again");
  await leaves.dial(stack.multiaddr(levada[transport]));
  // Nothing is subscribed again: the node remembers, and opens a new push stream.
  const arrives = async () => {
    const payload = randomBytes(1_000);
    await rest.publish(contentTopic, payload);
    await atStays.inbox.first(scope, "a push to who stayed", (seen) => seen.equals(payload));
    return atLeaves.inbox.count((seen) => seen.equals(payload)) > 0;
  };
  await poll(scope, "a push to who came back", arrives);
}

async function neverReads(scope, context) {
  const { rest, stack, nodeId } = context;
  const [reads, paused] = [await lightNode(scope, context), await lightNode(scope, context)];
  await stack.neverReadPushes(paused);
  const contentTopic = contentTopicOfShard();
  const { inbox } = await subscribed(scope, reads, stack, contentTopic);
  await subscribed(scope, paused, stack, contentTopic);
  const before = await rest.metric(SUBSCRIBERS);
  for (let sent = 0; sent < FLOOD_MESSAGES; sent += 1) {
    await pushed(scope, rest, contentTopic, [inbox], LARGE_BYTES);
  }
  expect((await rest.metric(SUBSCRIBERS)) === before, "a subscriber was lost");
  const pinged = await reads.filter.protocol.ping(nodeId);
  expect(pinged.success, `the ping failed: ${pinged.failure?.error}`);
}
