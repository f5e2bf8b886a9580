// What the node under test and its peers agree on.

export const CLUSTER = 1;
export const SHARDS = 8;
export const SHARD = 0;
export const PUBSUB_TOPIC = `/waku/2/rs/${CLUSTER}/${SHARD}`;
export const RELAY_PROTOCOL = "/vac/waku/relay/2.0.0";
export const FILTER_PUSH_PROTOCOL = "/vac/waku/filter-push/2.0.0-beta1";
export const METADATA_PROTOCOL = "/vac/waku/metadata/1.0.0";
export const PING_PROTOCOL = "/ipfs/ping/1.0.0";

// A fixed secp256k1 key, so that the peer id is known before the node starts.
export const NODE_KEY = "6c65766164612d696e7465726f702d6e6f64652d6b65792d3030303030303031";
// That of a second node beside the first.
export const OTHER_NODE_KEY = "6c65766164612d696e7465726f702d6e6f64652d6b65792d3030303030303032";

// nwaku's --max-msg-size, which holds for the whole frame; beside the message there are 24 bytes in it on the topic of the checks.
export const FRAME_BYTES_MAX = 150 * 1024;
export const MESSAGE_BYTES_MAX = FRAME_BYTES_MAX - 24;

let topics = 0;

// A content topic that no other check uses, so that a store query by it sees one check's messages.
export function freshContentTopic() {
  topics += 1;
  return `/levada/1/interop-${process.pid}-${topics}/proto`;
}
