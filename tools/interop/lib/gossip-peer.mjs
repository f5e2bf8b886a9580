// A gossipsub of js-libp2p on the Waku relay protocol, whichever of its versions, as the checks use it.

import { decode, encode, hashOf } from "../relay/codec.mjs";
import { PUBSUB_TOPIC } from "./constants.mjs";
import { nowNs } from "./rest.mjs";
import { Inbox } from "./wait.mjs";

// Gossipsub options of a peer that wants nobody in its mesh: what it gets and gives goes by IHAVE and IWANT.
export const MESHLESS = { D: 0, Dlo: 0, Dhi: 0, Dscore: 0, Dout: 0, allowPublishToZeroTopicPeers: true };

export class GossipPeer {
  // Everything that arrives on the topic, as bytes.
  raw = new Inbox();
  // The ids of peers that have sent GRAFT and PRUNE for the topic.
  grafts = new Inbox();
  prunes = new Inbox();
  // Whether what it publishes goes to nobody who has not asked.
  isAnnouncer = false;
  #multiaddr;
  #inboxes = new Map();

  constructor(libp2p, pubsub, multiaddr) {
    this.libp2p = libp2p;
    this.pubsub = pubsub;
    this.#multiaddr = multiaddr;
    pubsub.addEventListener("gossipsub:message", ({ detail }) => this.#receive(detail.msg));
    for (const [event, inbox] of [["gossipsub:graft", this.grafts], ["gossipsub:prune", this.prunes]]) {
      pubsub.addEventListener(event, ({ detail: { peerId, topic, direction } }) => {
        if (topic === PUBSUB_TOPIC && direction === "inbound") {
          inbox.put(peerId);
        }
      });
    }
    pubsub.subscribe(PUBSUB_TOPIC);
  }

  #receive({ topic, data }) {
    if (topic !== PUBSUB_TOPIC) {
      return;
    }
    const bytes = Buffer.from(data);
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

  // Where it listens, with its peer id.
  get addresses() {
    return this.libp2p.getMultiaddrs().map(String);
  }

  dial(address) {
    return this.libp2p.dial(this.#multiaddr(address));
  }

  // An answered ping: the other side has read what was sent before.
  ping(peerId) {
    return this.libp2p.services.ping.ping(this.#connection(peerId).remotePeer);
  }

  hangUp(peerId) {
    return this.libp2p.hangUp(this.#connection(peerId).remotePeer);
  }

  isConnectedTo(peerId) {
    return this.#connections(peerId).length > 0;
  }

  #connection(peerId) {
    const [connection] = this.#connections(peerId);
    if (!connection) {
      throw new Error(`the js peer has no connection to ${peerId}`);
    }
    return connection;
  }

  #connections(peerId) {
    return this.libp2p.getConnections().filter(({ remotePeer }) => remotePeer.toString() === peerId);
  }

  meshPeers() {
    return this.pubsub.getMeshPeers(PUBSUB_TOPIC);
  }

  subscribe() {
    this.pubsub.subscribe(PUBSUB_TOPIC);
  }

  unsubscribe() {
    this.pubsub.unsubscribe(PUBSUB_TOPIC);
  }

  // For how many milliseconds it may not graft the peer.
  backoffMs(peerId) {
    return (this.pubsub.backoff.get(PUBSUB_TOPIC)?.get(peerId) ?? 0) - Date.now();
  }

  // Asks a peer into the mesh, whether or not a backoff forbids it.
  graft(peerId) {
    const graft = [{ topicID: PUBSUB_TOPIC }];
    const control = { ihave: [], iwant: [], graft, prune: [], idontwant: [] };
    this.pubsub.sendRpc(peerId, { subscriptions: [], messages: [], control });
  }

  // Prunes a peer of its mesh.
  leaveMesh(peerId) {
    this.pubsub.mesh.get(PUBSUB_TOPIC).delete(peerId);
    this.pubsub.addBackoff(peerId, PUBSUB_TOPIC);
    return this.pubsub.sendPrune(peerId, PUBSUB_TOPIC);
  }

  // What it publishes from now on is announced, and sent to those who ask.
  announceOnly() {
    const nobody = () => ({ tosend: new Set(), tosendCount: { direct: 0, floodsub: 0, mesh: 0, fanout: 0 } });
    this.pubsub.selectPeersToPublish = nobody;
    this.isAnnouncer = true;
  }

  // What arrives on a content topic from now on.
  inbox(contentTopic) {
    let inbox = this.#inboxes.get(contentTopic);
    if (!inbox) {
      inbox = new Inbox();
      this.#inboxes.set(contentTopic, inbox);
    }
    return inbox;
  }

  // Publishes and returns the message hash as js-waku computes it.
  async publish(contentTopic, payload) {
    const message = { payload, contentTopic, version: 0, timestamp: nowNs(), ephemeral: false };
    await this.publishRaw(encode(message));
    return hashOf(PUBSUB_TOPIC, message);
  }

  async publishRaw(bytes) {
    const { recipients } = await this.pubsub.publish(PUBSUB_TOPIC, bytes);
    if (recipients.length === 0 && !this.isAnnouncer) {
      throw new Error("the js peer sent to nobody");
    }
  }

  stop() {
    return this.libp2p.stop();
  }
}
