// What a js-waku light node asks of a peer before it uses it.

import { CLUSTER, METADATA_PROTOCOL, PING_PROTOCOL, RELAY_PROTOCOL, SHARDS } from "../lib/constants.mjs";
import { expect } from "../lib/report.mjs";
import { poll } from "../lib/wait.mjs";

export async function lightChecks({ report, levada, stack, transport }) {
  const group = `js-waku light over ${transport}`;
  if (!report.wants(group)) {
    return;
  }
  const nodeId = stack.peerIdFromString(levada.peerId);
  const light = await stack.makeLightNode(transport);
  try {
    const dialled = await report.always(`${group}: dial`, async (scope) => {
      scope.waitingFor("the connection");
      await light.libp2p.dial(stack.multiaddr(levada[transport]));
    });
    if (dialled) {
      await protocolChecks({ report, light, nodeId, group });
    }
  } finally {
    await Promise.allSettled([light.stop()]);
  }
}

async function protocolChecks({ report, light, nodeId, group }) {
  await report.check(`${group}: identify names relay, metadata and ping`, async (scope) => {
    const wanted = [RELAY_PROTOCOL, METADATA_PROTOCOL, PING_PROTOCOL];
    await poll(scope, `the protocols ${wanted.join(", ")}`, async () => {
      const { protocols } = await light.libp2p.peerStore.get(nodeId);
      return wanted.every((protocol) => protocols.includes(protocol));
    });
  });
  await report.check(`${group}: metadata answers cluster ${CLUSTER} and all ${SHARDS} shards`, async (scope) => {
    scope.waitingFor("the metadata answer");
    const { shardInfo, error } = await light.libp2p.services.metadata.query(nodeId);
    expect(!error, `the query failed: ${error}`);
    expect(Number(shardInfo.clusterId) === CLUSTER, `the node says cluster ${shardInfo.clusterId}`);
    const shards = [...shardInfo.shards].sort((a, b) => a - b).join(",");
    const all = Array.from({ length: SHARDS }, (_, shard) => shard).join(",");
    expect(shards === all, `the node says shards ${shards}`);
  });
  await report.check(`${group}: ping`, async (scope) => {
    scope.waitingFor("the answer to a ping");
    await light.libp2p.services.ping.ping(nodeId);
  });
}
