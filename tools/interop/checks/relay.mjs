// Relay peers of each kind, over each transport and muxer, that dial the node or that the node dials.

import { randomBytes } from "node:crypto";

import { freshContentTopic, OTHER_NODE_KEY } from "../lib/constants.mjs";
import { Levada } from "../lib/levada.mjs";
import { joinMesh, meshed } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";
import { Rest } from "../lib/rest.mjs";
import { poll } from "../lib/wait.mjs";
import { crossed, exchangeChecks, posted } from "./exchange.mjs";

// What a connection can be made of.
export const WAYS = ["tcp", "ws"].flatMap((transport) => ["yamux", "mplex"].map((muxer) => ({ transport, muxer })));

// Two peers of one kind dial the node.
export async function relayChecks({ report, levada, rest, stack, way }) {
  const group = `${stack.name} over ${way.transport} and ${way.muxer}`;
  if (!report.wants(group)) {
    return;
  }
  const peers = [];
  try {
    const joined = await report.always(`${group}: two peers connect and join the node's mesh`, async (scope) => {
      for (let count = 0; count < 2; count += 1) {
        const peer = await stack.makePeer(way);
        peers.push(peer);
        await joinMesh(scope, peer, { address: levada[way.transport], peerId: levada.peerId });
      }
    });
    if (joined) {
      await exchangeChecks({ report, levada, rest, group, peers });
    }
  } finally {
    await Promise.allSettled(peers.map((peer) => peer.stop()));
  }
}

// A node that dials one peer of a kind for each way.
export async function dialledChecks({ report, binary, transport, stack }) {
  const group = `${stack.name} dialled by the node`;
  if (!report.wants(group)) {
    return;
  }
  const peers = [];
  let node;
  try {
    await report.check(`${group}: over tcp and ws with yamux and mplex, messages cross in every direction`, async (scope) => {
      scope.waitingFor("the peers to listen");
      for (const way of WAYS) {
        // An address each: peers behind one address lose score when there are many.
        const listen = `/ip4/127.0.0.${2 + peers.length}/tcp/0${way.transport === "ws" ? "/ws" : ""}`;
        peers.push(await stack.makePeer({ ...way, listen: [listen] }));
      }
      const staticNodes = peers.map((peer) => peer.addresses[0]);
      node = new Levada(binary, { transport, key: OTHER_NODE_KEY, staticNodes });
      await node.ready(scope);
      for (const peer of peers) {
        await meshed(scope, peer, node.peerId);
      }
      for (const [index, peer] of peers.entries()) {
        await crossed(scope, peer, peers[(index + 1) % peers.length]);
      }
      await posted(scope, new Rest(node), peers, 150_000);
    });
  } finally {
    node?.destroy();
    await Promise.allSettled(peers.map((peer) => peer.stop()));
  }
}

// Two nodes that know each other by a peer only: what is posted at one is stored by the other.
export async function middleChecks({ report, binary, levada, rest, transport, stack }) {
  const group = `${stack.name} between two nodes`;
  if (!report.wants(group)) {
    return;
  }
  const other = new Levada(binary, { transport, key: OTHER_NODE_KEY });
  try {
    await report.always(`${group}: the second node starts`, (scope) => other.ready(scope));
    for (const way of WAYS) {
      await report.check(`${group} over ${way.transport} and ${way.muxer}: messages cross both ways`, async (scope) => {
        const peer = await stack.makePeer(way);
        try {
          for (const node of [levada, other]) {
            await joinMesh(scope, peer, { address: node[way.transport], peerId: node.peerId });
          }
          await through(scope, rest, new Rest(other));
          await through(scope, new Rest(other), rest);
        } finally {
          await peer.stop();
        }
      });
    }
  } finally {
    other.destroy();
  }
}

async function through(scope, from, to) {
  const contentTopic = freshContentTopic();
  const payload = randomBytes(150_000);
  await from.publish(contentTopic, payload);
  const [stored] = await poll(scope, "the message in the other node's store", async () => {
    const messages = await to.stored(contentTopic);
    return messages.length > 0 && messages;
  });
  expect(stored.payload.equals(payload), "the other node's store has another payload");
}
