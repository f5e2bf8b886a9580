// The node under test: the real binary on free ports in a fresh folder.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { CLUSTER, NODE_KEY, SHARDS } from "./constants.mjs";

// Lines of output kept to explain a failure.
const TAIL_LINES = 40;

const FLAGS = [
  `--cluster-id=${CLUSTER}`,
  `--num-shards-in-network=${SHARDS}`,
  "--listen-address=127.0.0.1",
  "--websocket-support=true",
  "--websocket-port=0",
  "--relay=true",
  "--store=true",
  "--store-message-db-url=sqlite://interop.sqlite3",
  "--rest=true",
  "--rest-address=127.0.0.1",
  "--rest-port=0",
  "--metrics-server=true",
  "--metrics-server-address=127.0.0.1",
  "--metrics-server-port=0",
  "--discv5-discovery=false",
];

export class Levada {
  // Multiaddresses with peer id, of which one of `ws` and `wss` is there, and the base URLs of REST and metrics.
  tcp;
  ws;
  wss;
  rest;
  metrics;
  // Settles when the process ends: `exit` resolves, `gone` rejects.
  exit;
  gone;
  #webSocket;
  #child;
  #folder;
  #tail = [];
  #terminated = false;

  // `setup` has the name of the node's transport; optionally its key, its TCP port, the addresses that it dials, and the files of key and
  // certificate that secure its WebSocket port.
  constructor(binary, { transport, key = NODE_KEY, tcpPort = 0, staticNodes = [], tls }) {
    this.#webSocket = tls ? "wss" : "ws";
    const flags = [
      ...FLAGS,
      `--nodekey=${key}`,
      `--transport=${transport}`,
      `--tcp-port=${tcpPort}`,
      ...staticNodes.map((address) => `--staticnode=${address}`),
      ...(tls ? secureFlags(tls) : []),
    ];
    this.#folder = mkdtempSync(join(tmpdir(), "levada-interop-"));
    this.#child = spawn(binary, flags, { cwd: this.#folder, env: cleanEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
    process.once("exit", this.destroy);
    this.exit = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => resolve({ code, signal }));
      this.#child.once("error", (error) => resolve({ code: error.message, signal: null }));
    });
    this.gone = this.exit.then(({ code, signal }) => {
      if (!this.#terminated) {
        console.error(`the node ended (${signal ?? code}); its last lines:\n${this.tail()}`);
      }
      throw new Error(`the node ended (${signal ?? code})`);
    });
    // Whoever races against `gone` sees the rejection; nobody else has to.
    this.gone.catch(() => {});
    createInterface({ input: this.#child.stderr }).on("line", (line) => this.#keep(line));
  }

  // Resolves when the node says that it is ready and has named its four addresses.
  async ready(scope) {
    scope.waitingFor("the node's `ready` line");
    const lines = createInterface({ input: this.#child.stdout });
    await new Promise((resolve) => {
      lines.on("line", (line) => {
        this.#keep(line);
        this.#readAddress(line);
        if (line.startsWith("ready")) {
          resolve();
        }
      });
    });
    for (const name of ["tcp", this.#webSocket, "rest", "metrics"]) {
      if (!this[name]) {
        throw new Error(`the node named no ${name} address before it was ready\n${this.tail()}`);
      }
    }
  }

  #readAddress(line) {
    const local = line.replaceAll("0.0.0.0", "127.0.0.1");
    const ws = local.match(/\/ip4\/127\.0\.0\.1\/tcp\/\d+\/ws\/p2p\/\w+/);
    const wss = local.match(/\/ip4\/127\.0\.0\.1\/tcp\/\d+\/wss\/p2p\/\w+/);
    const tcp = local.match(/\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/\w+/);
    const http = local.match(/http:\/\/127\.0\.0\.1:\d+/);
    this.ws ??= ws?.[0];
    this.wss ??= wss?.[0];
    this.tcp ??= tcp?.[0];
    if (http && /metrics/i.test(local)) {
      this.metrics ??= http[0];
    } else if (http) {
      this.rest ??= http[0];
    }
  }

  #keep(line) {
    this.#tail.push(line);
    if (this.#tail.length > TAIL_LINES) {
      this.#tail.shift();
    }
  }

  // The last lines of output, indented.
  tail() {
    return this.#tail.map((line) => `    | ${line}`).join("\n");
  }

  get tcpPort() {
    return Number(this.tcp.match(/\/tcp\/(\d+)/)[1]);
  }

  get peerId() {
    return this.tcp.split("/").at(-1);
  }

  terminate() {
    this.#terminated = true;
    this.#child.kill("SIGTERM");
  }

  // Ends at once. Synchronous, so that it can run while this process exits.
  destroy = () => {
    this.#terminated = true;
    this.#child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
    process.removeListener("exit", this.destroy);
  };
}

function secureFlags({ key, certificate }) {
  return ["--websocket-secure-support=true", `--websocket-secure-key-path=${key}`, `--websocket-secure-cert-path=${certificate}`];
}

// The environment without settings of another node that would change this one.
export function cleanEnvironment() {
  const entries = Object.entries(process.env).filter(([name]) => !/^(LEVADA|WAKUNODE2)_/.test(name));
  return Object.fromEntries(entries);
}
