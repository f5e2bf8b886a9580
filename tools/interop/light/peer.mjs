// A js-waku light node (@waku/sdk 0.0.36), and a relay peer of another cluster on the libp2p below it.

import "../lib/polyfill.mjs";

import { noise } from "@chainsafe/libp2p-noise";
import { yamux } from "@chainsafe/libp2p-yamux";
import { privateKeyFromRaw } from "@libp2p/crypto/keys";
import { identify } from "@libp2p/identify";
import { peerIdFromPrivateKey, peerIdFromString } from "@libp2p/peer-id";
import { ping } from "@libp2p/ping";
import { tcp } from "@libp2p/tcp";
import { multiaddr } from "@multiformats/multiaddr";
import { proto_metadata } from "@waku/proto";
import { createLightNode, Protocols } from "@waku/sdk";
import * as lp from "it-length-prefixed";
import { createLibp2p } from "libp2p";

import { CLUSTER, FILTER_PUSH_PROTOCOL, METADATA_PROTOCOL, PUBSUB_TOPIC, SHARDS } from "../lib/constants.mjs";
import { relayGossipsub } from "./gossip.mjs";

export { multiaddr, peerIdFromString, Protocols };

// The peer id that belongs to a raw secp256k1 key in hex.
export function peerIdOfKey(hex) {
  return peerIdFromPrivateKey(privateKeyFromRaw(Buffer.from(hex, "hex"))).toString();
}

// Over WebSocket, secure or not, the node is stock: ws and mplex. Over TCP it gets tcp and yamux.
export async function makeLightNode(transport) {
  const added = transport === "tcp" ? { transports: [tcp()], streamMuxers: [yamux()] } : {};
  const node = await createLightNode({
    networkConfig: { clusterId: CLUSTER, numShardsInCluster: SHARDS },
    defaultBootstrap: false,
    discovery: { dns: false, peerExchange: false, peerCache: false },
    connectionManager: { enableAutoRecovery: false },
    // Stock light nodes dial wss only, and most checks do without.
    libp2p: { hideWebSocketInfo: true, filterMultiaddrs: false, ...added },
  });
  await node.start();
  return node;
}

// What the light node subscribes to a content topic with.
export function decoderOf(node, contentTopic) {
  return node.createDecoder({ contentTopic });
}

// From now on the light node takes push streams and reads nothing from them.
export async function neverReadPushes(node) {
  await node.libp2p.unhandle(FILTER_PUSH_PROTOCOL);
  await node.libp2p.handle(FILTER_PUSH_PROTOCOL, () => {}, { maxInboundStreams: 100 });
}

// A relay peer over TCP whose metadata says that it belongs to `clusterId`.
export async function makeForeignPeer(clusterId) {
  const libp2p = await createLibp2p({
    addresses: { listen: [] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), ping: ping(), pubsub: relayGossipsub() },
  });
  const answer = proto_metadata.WakuMetadataResponse.encode({ clusterId, shards: [0] });
  await libp2p.handle(METADATA_PROTOCOL, ({ stream }) => answerOnce(stream, answer));
  libp2p.services.pubsub.subscribe(PUBSUB_TOPIC);
  return libp2p;
}

// Reads one request, writes the answer, closes.
async function answerOnce(stream, answer) {
  try {
    await lp.decode(stream.source)[Symbol.asyncIterator]().next();
    await stream.sink(lp.encode([answer]));
    await stream.close();
  } catch {
    // The node may disconnect at once: that is what the check waits for.
  }
}
