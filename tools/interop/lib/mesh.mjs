// Bringing a peer so far that nothing sent to it or by it is lost.

import { poll } from "./wait.mjs";

// Dials the node and returns once each is in the other's mesh of the topic.
export async function joinMesh(scope, peer, node) {
  scope.waitingFor(`a connection to ${node.address}`);
  await peer.dial(node.address);
  await meshed(scope, peer, node.peerId);
}

// Returns once the node, whoever dials, is in the peer's mesh and the peer in the node's.
export async function meshed(scope, peer, peerId) {
  await poll(scope, "the node in the peer's mesh", async () => (await peer.meshPeers()).includes(peerId));
  // A peer adds the node when it sends its GRAFT; an answered ping says that the node has read past it.
  scope.waitingFor("an answered ping");
  await peer.ping(peerId);
}
