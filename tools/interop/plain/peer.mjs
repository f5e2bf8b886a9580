// A plain peer of js-libp2p 3 with gossipsub on the Waku relay protocol; it has no metadata protocol.

import "../lib/polyfill.mjs";

import { createHash } from "node:crypto";

import { generateKeyPair } from "@libp2p/crypto/keys";
import { gossipsub } from "@libp2p/gossipsub";
import { identify } from "@libp2p/identify";
import { mplex } from "@libp2p/mplex";
import { noise } from "@libp2p/noise";
import { ping } from "@libp2p/ping";
import { tcp } from "@libp2p/tcp";
import { webSockets } from "@libp2p/websockets";
import { yamux } from "@libp2p/yamux";
import { multiaddr } from "@multiformats/multiaddr";
import { createLibp2p } from "libp2p";
import { WebSocket } from "ws";

import { RELAY_PROTOCOL } from "../lib/constants.mjs";
import { GossipPeer } from "../lib/gossip-peer.mjs";

// Node 22 has this global, Node 20 does not; `ws` is what the WebSocket transport itself listens with.
globalThis.WebSocket ??= WebSocket;

export const name = "js-libp2p 3";

// What it is told to and by others can be seen, and what it sends can be chosen.
export const isObservable = true;

// A key that several peers, one after another, may have.
export function newIdentity() {
  return generateKeyPair("secp256k1");
}

export async function makePeer({ transport, muxer, listen = [], identity, gossip = {} }) {
  const libp2p = await createLibp2p({
    ...(identity && { privateKey: identity }),
    addresses: { listen },
    transports: [transport === "tcp" ? tcp() : webSockets()],
    connectionEncrypters: [noise()],
    streamMuxers: [muxer === "yamux" ? yamux() : mplex()],
    services: { identify: identify(), ping: ping(), pubsub: wakuGossipsub(gossip) },
  });
  return new GossipPeer(libp2p, libp2p.services.pubsub, multiaddr);
}

function wakuGossipsub(gossip) {
  const make = gossipsub({
    fallbackToFloodsub: false,
    globalSignaturePolicy: "StrictNoSign",
    emitSelf: false,
    msgIdFn: ({ data }) => createHash("sha256").update(data).digest(),
    ...gossip,
  });
  return (components) => {
    const pubsub = make(components);
    // The constructor of 17.1.1 documents a `protocols` option and does not apply it.
    pubsub.protocols = [RELAY_PROTOCOL];
    return pubsub;
  };
}
