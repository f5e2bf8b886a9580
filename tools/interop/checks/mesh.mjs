// Who is in whose mesh, what becomes of those outside, and peers that leave and come back.

import { randomBytes } from "node:crypto";

import { freshContentTopic, OTHER_NODE_KEY } from "../lib/constants.mjs";
import { MESHLESS } from "../lib/gossip-peer.mjs";
import { Levada } from "../lib/levada.mjs";
import { joinMesh, meshed } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";
import { Rest } from "../lib/rest.mjs";
import { poll } from "../lib/wait.mjs";
import { crossed, published } from "./exchange.mjs";

const SENT_TO_NOBODY = /^levada_net_publish_no_peers/;
const WAY = { transport: "tcp", muxer: "yamux" };

export async function meshChecks(context) {
  const { report, stack } = context;
  const checks = [
    ...(stack.isObservable
      ? [
          ["a peer that wants nobody in its mesh is grafted once, and gets messages by IHAVE and IWANT", gossipFromNode],
          ["what a peer only announces is asked for by IWANT, stored and relayed", gossipToNode],
          ["unsubscribing ends the node's sending; a GRAFT within the backoff is answered with PRUNE", unsubscribed],
        ]
      : []),
    ["a peer that hangs up and dials again is in the mesh again", reconnected],
    ["a peer that restarts with its key is in the mesh again", restarted],
    ["the node restarts with its key on its port, and its peer finds it again", nodeRestarted],
  ];
  for (const [what, check] of checks) {
    const made = [];
    const make = async (options = {}) => {
      const peer = await stack.makePeer({ ...WAY, ...options });
      made.push(peer);
      return peer;
    };
    try {
      await report.check(`${stack.name}: ${what}`, (scope) => check(scope, { ...context, make }));
    } finally {
      await Promise.allSettled(made.map((peer) => peer.stop()));
    }
  }
}

// What the node is known by.
function seen({ levada }) {
  return { address: levada.tcp, peerId: levada.peerId };
}

async function gossipFromNode(scope, context) {
  const { make, levada } = context;
  const [outside, sender] = [await make({ gossip: MESHLESS }), await make()];
  await outside.dial(levada.tcp);
  await outside.grafts.first(scope, "the node's GRAFT", (peerId) => peerId === levada.peerId);
  await poll(scope, "the peer's mesh to be empty again", () => outside.meshPeers().length === 0);
  await joinMesh(scope, sender, seen(context));
  await outside.ping(levada.peerId);
  const contentTopic = freshContentTopic();
  const inbox = outside.inbox(contentTopic);
  const hash = await sender.publish(contentTopic, randomBytes(500));
  // Gossip goes out at heartbeats, at which the node would graft again if it minded no backoff.
  const message = await inbox.first(scope, "a message at the peer without a mesh", () => true);
  expect(message.hash === hash, "another message arrived");
  expect(outside.grafts.count(() => true) === 1, "the node grafted again within the backoff");
  expect(outside.meshPeers().length === 0, "the peer has a mesh after all");
}

async function gossipToNode(scope, context) {
  const { make, rest } = context;
  const [announcer, observer] = [await make({ gossip: { allowPublishToZeroTopicPeers: true } }), await make()];
  await joinMesh(scope, announcer, seen(context));
  await joinMesh(scope, observer, seen(context));
  announcer.announceOnly();
  // Gossip goes to peers outside of the mesh.
  announcer.leaveMesh(context.levada.peerId);
  await published(scope, rest, announcer, 1_000, observer);
}

async function unsubscribed(scope, context) {
  const { make, rest, levada } = context;
  const peer = await make();
  await joinMesh(scope, peer, seen(context));
  peer.unsubscribe();
  const before = await rest.metric(SENT_TO_NOBODY);
  await poll(scope, "the node to have nobody to send to", async () => {
    await rest.publish(freshContentTopic(), randomBytes(10));
    return (await rest.metric(SENT_TO_NOBODY)) > before;
  });
  peer.subscribe();
  peer.graft(levada.peerId);
  await peer.prunes.first(scope, "the node's PRUNE", (peerId) => peerId === levada.peerId);
  expect(peer.backoffMs(levada.peerId) > 0, "the PRUNE had no backoff");
  expect(peer.meshPeers().length === 0, "the peer is in the mesh within the backoff");
  const contentTopic = freshContentTopic();
  const inbox = peer.inbox(contentTopic);
  await rest.publish(contentTopic, randomBytes(10));
  await inbox.first(scope, "the node's own message, which needs no mesh", () => true);
}

async function reconnected(scope, context) {
  const { make, levada } = context;
  const [peer, other] = [await make(), await make()];
  await joinMesh(scope, other, seen(context));
  for (let count = 0; count < 3; count += 1) {
    await joinMesh(scope, peer, seen(context));
    await crossed(scope, peer, other);
    await crossed(scope, other, peer);
    await peer.hangUp(levada.peerId);
    await poll(scope, "the end of the connection", async () => !(await peer.isConnectedTo(levada.peerId)));
  }
}

async function restarted(scope, context) {
  const { make, stack } = context;
  const identity = await stack.newIdentity();
  const [peer, other] = [await make({ identity }), await make()];
  await joinMesh(scope, other, seen(context));
  await joinMesh(scope, peer, seen(context));
  await crossed(scope, other, peer);
  await peer.stop();
  const again = await make({ identity });
  await joinMesh(scope, again, seen(context));
  await crossed(scope, again, other);
  await crossed(scope, other, again);
}

async function nodeRestarted(scope, { make, binary, transport }) {
  const peer = await make();
  const start = async (tcpPort) => {
    const node = new Levada(binary, { transport, key: OTHER_NODE_KEY, tcpPort });
    await node.ready(scope);
    await joinMesh(scope, peer, { address: node.tcp, peerId: node.peerId });
    await published(scope, new Rest(node), peer, 1_000);
    return node;
  };
  const first = await start(0);
  first.terminate();
  scope.waitingFor("the node to end");
  await first.exit;
  await poll(scope, "the end of the connection", async () => !(await peer.isConnectedTo(first.peerId)));
  const second = await start(first.tcpPort);
  expect(second.peerId === first.peerId, "the node has another peer id");
  await meshed(scope, peer, second.peerId);
  for (const node of [first, second]) {
    node.destroy();
  }
}
