// What the node under test and its peers agree on.

export const CLUSTER = 1;
export const SHARDS = 8;
export const SHARD = 0;
export const PUBSUB_TOPIC = `/waku/2/rs/${CLUSTER}/${SHARD}`;
export const RELAY_PROTOCOL = "/vac/waku/relay/2.0.0";
export const METADATA_PROTOCOL = "/vac/waku/metadata/1.0.0";
export const PING_PROTOCOL = "/ipfs/ping/1.0.0";

// A fixed secp256k1 key, so that the peer id is known before the node starts.
export const NODE_KEY = "6c65766164612d696e7465726f702d6e6f64652d6b65792d3030303030303031";

let topics = 0;

// A content topic that no other check uses, so that a store query by it sees one check's messages.
export function freshContentTopic() {
  topics += 1;
  return `/levada/1/interop-${process.pid}-${topics}/proto`;
}
