// Bringing a peer so far that nothing sent to it or by it is lost.

import { poll } from "./wait.mjs";

// Dials the node and returns once each is in the other's mesh of the topic.
export async function joinMesh(scope, peer, address, nodeId) {
  scope.waitingFor(`a connection to ${address}`);
  await peer.dial(address);
  await poll(scope, "the node in the js peer's mesh", () => peer.meshPeers().includes(nodeId));
  // The js side adds the node when it sends its GRAFT; an answered ping says that the node has read past it.
  scope.waitingFor("an answered ping");
  const [connection] = peer.libp2p.getConnections();
  await peer.libp2p.services.ping.ping(connection.remotePeer);
}
