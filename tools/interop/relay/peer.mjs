// A real js-waku relay node: createRelayNode of @waku/sdk 0.0.27, @waku/relay 0.0.14.

import "../lib/polyfill.mjs";

import { yamux } from "@chainsafe/libp2p-yamux";
import { mplex } from "@libp2p/mplex";
import { createSecp256k1PeerId } from "@libp2p/peer-id-factory";
import { tcp } from "@libp2p/tcp";
import { multiaddr } from "@multiformats/multiaddr";
import { createDecoder, createEncoder } from "@waku/sdk";
import { createRelayNode } from "@waku/sdk/relay";

import { CLUSTER, PUBSUB_TOPIC, SHARD } from "../lib/constants.mjs";
import { GossipPeer } from "../lib/gossip-peer.mjs";
import { Inbox } from "../lib/wait.mjs";
import { hashOf } from "./codec.mjs";

export const name = "js-waku relay";

// What it is told to and by others can be seen, and what it sends can be chosen.
export const isObservable = true;

// A key that several peers, one after another, may have.
export function newIdentity() {
  return createSecp256k1PeerId();
}

// Stock is WebSocket and mplex; the rest is what a user adds.
export async function makePeer({ transport, muxer, listen = [], identity, gossip = {} }) {
  const node = await createRelayNode({
    networkConfig: { clusterId: CLUSTER, shards: [SHARD] },
    defaultBootstrap: false,
    emitSelf: false,
    ...gossip,
    libp2p: {
      ...(identity && { peerId: identity }),
      ...(transport === "tcp" && { transports: [tcp()] }),
      streamMuxers: [muxer === "yamux" ? yamux() : mplex()],
      hideWebSocketInfo: true,
      filterMultiaddrs: false,
      addresses: { listen },
    },
  });
  await node.start();
  return new RelayPeer(node);
}

// What goes in and out by content topic goes through js-waku's own encoder, decoder and observers.
class RelayPeer extends GossipPeer {
  #node;
  #inboxes = new Map();

  constructor(node) {
    super(node.libp2p, node.libp2p.services.pubsub, multiaddr);
    this.#node = node;
  }

  inbox(contentTopic) {
    let inbox = this.#inboxes.get(contentTopic);
    if (!inbox) {
      inbox = new Inbox();
      this.#inboxes.set(contentTopic, inbox);
      this.#node.relay.subscribe([createDecoder(contentTopic, PUBSUB_TOPIC)], (message) => {
        inbox.put({ payload: Buffer.from(message.payload), hash: hashOf(PUBSUB_TOPIC, message.proto) });
      });
    }
    return inbox;
  }

  async publish(contentTopic, payload) {
    const encoder = createEncoder({ contentTopic, pubsubTopic: PUBSUB_TOPIC });
    const message = { payload, timestamp: new Date() };
    const hash = hashOf(PUBSUB_TOPIC, await encoder.toProtoObj(message));
    const { successes, failures } = await this.#node.relay.send(encoder, message);
    if (successes.length === 0 && !this.isAnnouncer) {
      throw new Error(`js-waku sent to nobody: ${JSON.stringify(failures)}`);
    }
    return hash;
  }

  stop() {
    return this.#node.stop();
  }
}
