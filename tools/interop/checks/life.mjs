// Start and end of the node.

import { NODE_KEY } from "../lib/constants.mjs";
import { expect } from "../lib/report.mjs";

// A node drains and leaves well within this.
const EXIT_SECONDS_MAX = 20;

export async function startChecks({ report, levada, rest, light }) {
  await report.check("node: its peer id is the one of its key", () => {
    const wanted = light.peerIdOfKey(NODE_KEY);
    expect(levada.peerId === wanted, `the node says ${levada.peerId}, its key gives ${wanted}`);
  });
  await report.check("node: health is READY before any peer", async () => {
    const { nodeHealth } = await rest.health();
    expect(nodeHealth === "READY", `nodeHealth is ${nodeHealth}`);
  });
}

export async function endCheck(levada) {
  levada.terminate();
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ code: `nothing within ${EXIT_SECONDS_MAX} s`, signal: null }), EXIT_SECONDS_MAX * 1000);
  });
  const { code, signal } = await Promise.race([levada.exit, late]);
  clearTimeout(timer);
  expect(code === 0, `the node ended with ${signal ?? code} after SIGTERM\n${levada.tail()}`);
}
