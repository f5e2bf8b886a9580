// The client commands of the binary: what js-libp2p thinks of its keys, what it reads of a js-waku peer, and messages that go from it to a
// js-waku peer and back, by the node.

import { randomBytes } from "node:crypto";

import { CLUSTER, freshContentTopic, METADATA_PROTOCOL, PUBSUB_TOPIC, RELAY_PROTOCOL } from "../lib/constants.mjs";
import { Command } from "../lib/command.mjs";
import { joinMesh } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";
import { poll } from "../lib/wait.mjs";
import { WAYS } from "./relay.mjs";

// What the peer calls itself.
const AGENT = "js-waku";

export async function clientChecks({ report, binary, transport: ofNode, levada, light, relay }) {
  const group = "client commands";
  if (!report.wants(group)) {
    return;
  }
  // These ask no node, so its transport makes no difference to them.
  if (ofNode === "levada") {
    await report.check(`${group}: js-libp2p derives the peer id of a key from levada keys`, (scope) => keys(scope, binary, light));
    for (const way of WAYS) {
      const what = `levada peers reads a js-waku peer over ${way.transport} and ${way.muxer}`;
      const listening = { ...way, listen: [listenAddress(way)] };
      await withPeer(report, `${group}: ${what}`, relay, listening, (scope, peer) => peers(scope, binary, peer));
    }
  }
  for (const transport of ["tcp", "ws"]) {
    const what = `levada publish, subscribe and query exchange messages with a js-waku peer, over ${transport}`;
    await withPeer(report, `${group}: ${what}`, relay, WAYS[0], (scope, peer) => exchange(scope, { binary, levada, transport, peer }));
  }
}

function listenAddress({ transport }) {
  return `/ip4/127.0.0.1/tcp/0${transport === "ws" ? "/ws" : ""}`;
}

async function withPeer(report, name, relay, options, check) {
  let peer;
  try {
    await report.check(name, async (scope) => {
      scope.waitingFor("the js-waku peer");
      peer = await relay.makePeer(options);
      await check(scope, peer);
    });
  } finally {
    await Promise.allSettled([peer?.stop()]);
  }
}

async function keys(scope, binary, light) {
  const [key] = await new Command(binary, ["keys"]).done(scope);
  const derived = light.peerIdOfKey(key.nodeKey);
  expect(derived === key.peerId, `js-libp2p derives ${derived}, levada ${key.peerId}`);
}

async function peers(scope, binary, peer) {
  const [address] = peer.addresses;
  const [said] = await new Command(binary, ["peers", `--to=${address}`, `--cluster-id=${CLUSTER}`]).done(scope);
  expect(address.endsWith(said.peerId), `${address} says that it is ${said.peerId}`);
  expect(said.agent === AGENT, `it calls itself ${said.agent}`);
  for (const protocol of [RELAY_PROTOCOL, METADATA_PROTOCOL]) {
    expect(said.protocols.includes(protocol), `no ${protocol} in ${said.protocols}`);
  }
  expect(said.shards.length > 0, "its shards are not told");
}

async function exchange(scope, { binary, levada, transport, peer }) {
  await joinMesh(scope, peer, { address: levada.tcp, peerId: levada.peerId });
  const contentTopic = freshContentTopic();
  const inbox = peer.inbox(contentTopic);
  const target = [`--to=${levada[transport]}`, `--pubsub-topic=${PUBSUB_TOPIC}`, `--content-topic=${contentTopic}`];
  const subscriber = new Command(binary, ["subscribe", ...target, "--count=2"]);
  try {
    await poll(scope, "levada subscribe to be subscribed", async () => subscriber.hasSaid("subscribed at "));
    const [published] = await new Command(binary, ["publish", ...target, "of a client"]).done(scope);
    const isOfClient = ({ payload }) => payload.equals(Buffer.from("of a client"));
    const ofClient = await inbox.first(scope, "the client's message at the js-waku peer", isOfClient);
    expect(`0x${ofClient.hash}` === published.messageHash, `js-waku hashes it to ${ofClient.hash}, levada to ${published.messageHash}`);
    const payload = randomBytes(1_000);
    const ofPeer = await peer.publish(contentTopic, payload);
    const pushed = await subscriber.done(scope);
    const hashes = [published.messageHash, `0x${ofPeer}`];
    expect(pushed.map(({ messageHash }) => messageHash).join() === hashes.join(), `${JSON.stringify(pushed)} was pushed`);
    expect(Buffer.from(pushed[1].payload, "base64").equals(payload), "the pushed payload is another one");
    const found = await poll(scope, "both messages in the archive", async () => {
      const rows = await new Command(binary, ["query", ...target]).done(scope);
      return rows.length === hashes.length && rows;
    });
    expect(JSON.stringify(found.map(({ messageHash }) => messageHash).sort()) === JSON.stringify(hashes.sort()), "query finds others");
    expect(found.some((row) => Buffer.from(row.payload, "base64").equals(payload)), "query finds another payload");
  } finally {
    subscriber.stop();
  }
}
