// What the checks of js-waku light nodes share.

import { freshContentTopic } from "./constants.mjs";

// Runs checks, each a title and a function, in a group; every peer that a check adds to `made` is stopped after it.
export async function lightChecks(report, group, context, checks) {
  for (const [what, check] of checks) {
    const made = [];
    try {
      await report.check(`${group}: ${what}`, (scope) => check(scope, { ...context, made }));
    } finally {
      await Promise.allSettled(made.map((peer) => peer.stop()));
    }
  }
}

// A content topic that js-waku assigns to the shard of the checks, which application and version decide.
export function contentTopicOfShard() {
  return freshContentTopic().replace("/levada/1/", "/myapp/1/");
}

// A light node that is connected and knows that the node serves `protocols`.
export async function connected(scope, { levada, stack, transport, made }, protocols) {
  const light = await stack.makeLightNode(transport);
  made.push(light);
  scope.waitingFor("the connection");
  await light.dial(stack.multiaddr(levada[transport]));
  scope.waitingFor("the node's protocols at the light node");
  await light.waitForPeers(protocols);
  return light;
}
