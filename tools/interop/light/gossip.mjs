// A plain peer of js-libp2p 2 with gossipsub 14 on the Waku relay protocol, on the libp2p below js-waku's light node.

import "../lib/polyfill.mjs";

import { createHash } from "node:crypto";

import { gossipsub } from "@chainsafe/libp2p-gossipsub";
import { noise } from "@chainsafe/libp2p-noise";
import { yamux } from "@chainsafe/libp2p-yamux";
import { generateKeyPair } from "@libp2p/crypto/keys";
import { identify } from "@libp2p/identify";
import { mplex } from "@libp2p/mplex";
import { ping } from "@libp2p/ping";
import { tcp } from "@libp2p/tcp";
import { webSockets } from "@libp2p/websockets";
import { all } from "@libp2p/websockets/filters";
import { multiaddr } from "@multiformats/multiaddr";
import { createLibp2p } from "libp2p";

import { RELAY_PROTOCOL } from "../lib/constants.mjs";
import { GossipPeer } from "../lib/gossip-peer.mjs";

export const name = "js-libp2p 2";

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
    transports: [transport === "tcp" ? tcp() : webSockets({ filter: all })],
    connectionEncrypters: [noise()],
    streamMuxers: [muxer === "yamux" ? yamux() : mplex()],
    services: { identify: identify(), ping: ping(), pubsub: relayGossipsub(gossip) },
  });
  return new GossipPeer(libp2p, libp2p.services.pubsub, multiaddr);
}

// Gossipsub under the id of the Waku relay and no other.
export function relayGossipsub(gossip = {}) {
  const make = gossipsub({
    fallbackToFloodsub: false,
    globalSignaturePolicy: "StrictNoSign",
    emitSelf: false,
    msgIdFn: ({ data }) => createHash("sha256").update(data).digest(),
    ...gossip,
  });
  return (components) => {
    const pubsub = make(components);
    pubsub.multicodecs = [RELAY_PROTOCOL];
    return pubsub;
  };
}
