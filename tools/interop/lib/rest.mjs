// The node's HTTP side.

import { PUBSUB_TOPIC } from "./constants.mjs";
import { expect } from "./report.mjs";

export class Rest {
  #rest;
  #metrics;

  constructor(levada) {
    this.#rest = levada.rest;
    this.#metrics = levada.metrics;
  }

  async health() {
    return JSON.parse(await fetchText(`${this.#rest}/health`));
  }

  // Publishes on the topic of the checks and returns the nanosecond timestamp it gave the message.
  async publish(contentTopic, payload) {
    const { status, text, timestamp } = await this.tryPublish(contentTopic, payload);
    expect(status === 200, `publishing was answered ${status}: ${text.slice(0, 200)}`);
    return timestamp;
  }

  // The same, whatever the answer is.
  async tryPublish(contentTopic, payload) {
    const timestamp = nowNs();
    const body = `{"payload":"${Buffer.from(payload).toString("base64")}","contentTopic":${JSON.stringify(contentTopic)},`
      + `"version":0,"timestamp":${timestamp}}`;
    const url = `${this.#rest}/relay/v1/messages/${encodeURIComponent(PUBSUB_TOPIC)}`;
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    return { status: response.status, text: await response.text(), timestamp };
  }

  // The archived messages of a content topic, with data; hashes are lower-case hex without 0x.
  async stored(contentTopic) {
    const query = new URLSearchParams({ includeData: "true", pubsubTopic: PUBSUB_TOPIC, contentTopics: contentTopic });
    return this.#store(query);
  }

  // The archived messages that have one of these hashes.
  async storedByHash(hashes) {
    const query = new URLSearchParams({ includeData: "true", hashes: hashes.map((hash) => `0x${hash}`).join(",") });
    return this.#store(query);
  }

  async #store(query) {
    const answer = JSON.parse(await fetchText(`${this.#rest}/store/v3/messages?${query}`));
    expect(answer.statusCode === 200, `the store answered ${answer.statusCode} ${answer.statusDesc}`);
    return answer.messages.map(({ messageHash, message, pubsubTopic }) => ({
      hash: messageHash.replace(/^0x/, "").toLowerCase(),
      payload: Buffer.from(message.payload, "base64"),
      contentTopic: message.contentTopic,
      pubsubTopic,
    }));
  }

  // The sum of all samples whose name or labels match `pattern`.
  async metric(pattern) {
    const text = await fetchText(`${this.#metrics}/metrics`);
    const samples = text.split("\n").filter((line) => !line.startsWith("#") && pattern.test(line));
    expect(samples.length > 0, `no metric matches ${pattern}`);
    return samples.reduce((sum, line) => sum + Number(line.match(/\S+\s+([\d.e+-]+)/)?.[1] ?? 0), 0);
  }
}

// Nanoseconds do not fit a double, so they stay a BigInt and are written into JSON as text.
export function nowNs() {
  return BigInt(Date.now()) * 1_000_000n;
}

async function fetchText(url) {
  const response = await fetch(url);
  const text = await response.text();
  expect(response.ok, `GET ${url.split("?")[0]} answered ${response.status}: ${text.slice(0, 200)}`);
  return text;
}
