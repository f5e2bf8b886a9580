// A peer of rust-libp2p: the program `levada-interop-peer`, spoken to line by line.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";

import { PUBSUB_TOPIC } from "../lib/constants.mjs";
import { nowNs } from "../lib/rest.mjs";
import { Inbox } from "../lib/wait.mjs";
import { decode, encode, hashOf } from "../relay/codec.mjs";

export const name = "rust-libp2p";

// Its router tells nobody of GRAFT, PRUNE and backoffs, and has no way to announce only.
export const isObservable = false;

let program;

// Where the program is.
export function useProgram(path) {
  program = path;
}

// A key that several peers, one after another, may have.
export function newIdentity() {
  return randomBytes(32).toString("hex");
}

export async function makePeer({ transport, muxer, listen = [], identity = newIdentity() }) {
  const child = spawn(program, [transport, muxer, identity, ...listen], { stdio: ["pipe", "pipe", "inherit"] });
  const peer = new RustPeer(child);
  if (listen.length > 0) {
    await peer.listening;
  }
  return peer;
}

class RustPeer {
  // Everything that arrives on the topic, as bytes.
  raw = new Inbox();
  addresses = [];
  listening;
  #child;
  #inboxes = new Map();
  // Who waits for an answer, in the order of the orders.
  #asked = [];
  #ended;

  constructor(child) {
    this.#child = child;
    let isListening;
    this.listening = new Promise((resolve) => {
      isListening = resolve;
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { listening, answer, refused, message } = JSON.parse(line);
      if (listening !== undefined) {
        this.addresses.push(listening);
        isListening();
      } else if (message !== undefined) {
        this.#receive(Buffer.from(message, "hex"));
      } else if (refused !== undefined) {
        this.#asked.shift()?.reject(new Error(`the rust peer refused: ${refused}`));
      } else {
        this.#asked.shift()?.resolve(answer);
      }
    });
    this.#ended = new Promise((resolve) => child.once("exit", resolve)).then(() => {
      for (const { reject } of this.#asked.splice(0)) {
        reject(new Error("the rust peer has ended"));
      }
    });
    process.once("exit", this.#kill);
  }

  #kill = () => this.#child.kill("SIGKILL");

  #receive(bytes) {
    this.raw.put(bytes);
    let message;
    try {
      message = decode(bytes);
    } catch {
      // Malformed bytes are of interest to those who read `raw`.
      return;
    }
    const { contentTopic, payload } = message;
    this.#inboxes.get(contentTopic)?.put({ payload: Buffer.from(payload), hash: hashOf(PUBSUB_TOPIC, message) });
  }

  #ask(order) {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    return new Promise((resolve, reject) => this.#asked.push({ resolve, reject }));
  }

  dial(address) {
    return this.#ask({ dial: address });
  }

  // An answer from the node's side there is none; what is published later goes out behind what was sent before.
  ping() {
    return this.#ask({ peers: null });
  }

  hangUp(peerId) {
    return this.#ask({ hang_up: peerId });
  }

  async isConnectedTo(peerId) {
    return (await this.#ask({ peers: null })).includes(peerId);
  }

  meshPeers() {
    return this.#ask({ mesh: null });
  }

  subscribe() {
    return this.#ask({ subscribe: true });
  }

  unsubscribe() {
    return this.#ask({ subscribe: false });
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

  publishRaw(bytes) {
    return this.#ask({ publish: Buffer.from(bytes).toString("hex") });
  }

  async stop() {
    process.removeListener("exit", this.#kill);
    this.#child.stdin.end();
    await this.#ended;
  }
}
