// A plain js-libp2p peer with gossipsub on the Waku relay protocol; it has no metadata protocol.

import "../lib/polyfill.mjs";

import { createHash } from "node:crypto";

import { gossipsub } from "@libp2p/gossipsub";
import { identify } from "@libp2p/identify";
import { noise } from "@libp2p/noise";
import { ping } from "@libp2p/ping";
import { tcp } from "@libp2p/tcp";
import { webSockets } from "@libp2p/websockets";
import { yamux } from "@libp2p/yamux";
import { multiaddr } from "@multiformats/multiaddr";
import { createLibp2p } from "libp2p";
import { WebSocket } from "ws";

import { PUBSUB_TOPIC, RELAY_PROTOCOL } from "../lib/constants.mjs";
import { nowNs } from "../lib/rest.mjs";
import { Inbox } from "../lib/wait.mjs";
import { decode, encode, hashOf } from "../relay/codec.mjs";

// Node 22 has this global, Node 20 does not; `ws` is what the WebSocket transport itself listens with.
globalThis.WebSocket ??= WebSocket;

export const name = "js-libp2p gossipsub";

export async function makePeer(transport) {
  const libp2p = await createLibp2p({
    addresses: { listen: [] },
    transports: [transport === "tcp" ? tcp() : webSockets()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify(), ping: ping(), pubsub: wakuGossipsub() },
  });
  return new PlainPeer(libp2p);
}

function wakuGossipsub() {
  const make = gossipsub({
    fallbackToFloodsub: false,
    globalSignaturePolicy: "StrictNoSign",
    emitSelf: false,
    msgIdFn: ({ data }) => createHash("sha256").update(data).digest(),
  });
  return (components) => {
    const pubsub = make(components);
    // The constructor of 17.1.1 documents a `protocols` option and does not apply it.
    pubsub.protocols = [RELAY_PROTOCOL];
    return pubsub;
  };
}

class PlainPeer {
  // Everything that arrives on the topic, as bytes.
  raw = new Inbox();
  #inboxes = new Map();

  constructor(libp2p) {
    this.libp2p = libp2p;
    this.pubsub = libp2p.services.pubsub;
    this.pubsub.addEventListener("gossipsub:message", ({ detail }) => this.#receive(Buffer.from(detail.msg.data)));
    this.pubsub.subscribe(PUBSUB_TOPIC);
  }

  #receive(bytes) {
    this.raw.put(bytes);
    let message;
    try {
      message = decode(bytes);
    } catch {
      // Malformed bytes are of interest to those who read `raw`.
      return;
    }
    this.#inboxes.get(message.contentTopic)?.put({
      payload: Buffer.from(message.payload),
      hash: hashOf(PUBSUB_TOPIC, message),
    });
  }

  dial(address) {
    return this.libp2p.dial(multiaddr(address));
  }

  meshPeers() {
    return this.pubsub.getMeshPeers(PUBSUB_TOPIC);
  }

  inbox(contentTopic) {
    let inbox = this.#inboxes.get(contentTopic);
    if (!inbox) {
      inbox = new Inbox();
      this.#inboxes.set(contentTopic, inbox);
    }
    return inbox;
  }

  async publish(contentTopic, payload) {
    const message = { payload, contentTopic, version: 0, timestamp: nowNs(), ephemeral: false };
    await this.publishRaw(encode(message));
    return hashOf(PUBSUB_TOPIC, message);
  }

  async publishRaw(bytes) {
    const { recipients } = await this.pubsub.publish(PUBSUB_TOPIC, bytes);
    if (recipients.length === 0) {
      throw new Error("js-libp2p sent to nobody");
    }
  }

  stop() {
    return this.libp2p.stop();
  }
}
