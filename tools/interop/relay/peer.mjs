// A real js-waku relay node: createRelayNode of @waku/sdk 0.0.27, @waku/relay 0.0.14.

import "../lib/polyfill.mjs";

import { yamux } from "@chainsafe/libp2p-yamux";
import { tcp } from "@libp2p/tcp";
import { multiaddr } from "@multiformats/multiaddr";
import { createDecoder, createEncoder } from "@waku/sdk";
import { createRelayNode } from "@waku/sdk/relay";

import { CLUSTER, PUBSUB_TOPIC, SHARD } from "../lib/constants.mjs";
import { Inbox } from "../lib/wait.mjs";
import { hashOf } from "./codec.mjs";

export const name = "js-waku relay";

// Over WebSocket the node is stock, so its muxer is mplex. Over TCP it gets what a TCP user adds: tcp and yamux.
export async function makePeer(transport) {
  const added = transport === "tcp" ? { transports: [tcp()], streamMuxers: [yamux()] } : {};
  const node = await createRelayNode({
    networkConfig: { clusterId: CLUSTER, shards: [SHARD] },
    defaultBootstrap: false,
    emitSelf: false,
    libp2p: { hideWebSocketInfo: true, filterMultiaddrs: false, addresses: { listen: [] }, ...added },
  });
  await node.start();
  return new RelayPeer(node);
}

class RelayPeer {
  #node;
  #inboxes = new Map();

  constructor(node) {
    this.#node = node;
  }

  get libp2p() {
    return this.#node.libp2p;
  }

  dial(address) {
    return this.#node.libp2p.dial(multiaddr(address));
  }

  meshPeers() {
    return this.#node.relay.getMeshPeers(PUBSUB_TOPIC);
  }

  // What arrives on a content topic from now on.
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

  // Publishes and returns the message hash as js-waku computes it.
  async publish(contentTopic, payload) {
    const encoder = createEncoder({ contentTopic, pubsubTopic: PUBSUB_TOPIC });
    const message = { payload, timestamp: new Date() };
    const hash = hashOf(PUBSUB_TOPIC, await encoder.toProtoObj(message));
    const { successes, failures } = await this.#node.relay.send(encoder, message);
    if (successes.length === 0) {
      throw new Error(`js-waku sent to nobody: ${JSON.stringify(failures)}`);
    }
    return hash;
  }

  stop() {
    return this.#node.stop();
  }
}
