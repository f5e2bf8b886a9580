// Who may stay: a peer without metadata does, a peer of another cluster does not.

import { randomBytes } from "node:crypto";

import { CLUSTER, freshContentTopic } from "../lib/constants.mjs";
import { joinMesh } from "../lib/mesh.mjs";
import { expect } from "../lib/report.mjs";

const FOREIGN_CLUSTER = CLUSTER + 98;

export async function clusterChecks({ report, levada, rest, plain, light }) {
  const name = "metadata: another cluster is disconnected, a peer without metadata stays";
  if (!report.wants(name)) {
    return;
  }
  const peer = await plain.makePeer({ transport: "tcp", muxer: "yamux" });
  const foreign = await light.makeForeignPeer(FOREIGN_CLUSTER);
  try {
    await report.check(name, async (scope) => {
      await joinMesh(scope, peer, { address: levada.tcp, peerId: levada.peerId });
      const disconnected = new Promise((resolve) => foreign.addEventListener("peer:disconnect", resolve, { once: true }));
      scope.waitingFor("the connection of the foreign peer");
      await foreign.dial(light.multiaddr(levada.tcp));
      scope.waitingFor("the node to disconnect the foreign peer");
      await disconnected;
      expect(peer.libp2p.getConnections().length === 1, "the peer without metadata was disconnected as well");
      const contentTopic = freshContentTopic();
      const inbox = peer.inbox(contentTopic);
      await rest.publish(contentTopic, randomBytes(100));
      await inbox.first(scope, "a message at the peer without metadata", () => true);
    });
  } finally {
    await Promise.allSettled([peer.stop(), foreign.stop()]);
  }
}
