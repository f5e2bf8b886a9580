//! A body of another JSON type than its route describes is refused with a sentence, whatever the route is.

use serde_json::Value;

use super::{SHARD_0, admin, get, send};

/// Arrays that a reader which takes members for fields in their order would understand, and other things that are no objects.
const NO_OBJECTS: [&str; 10] = [
    "[]",
    r#"["AQ==","/app/1/name/proto"]"#,
    r#"["/waku/2/rs/0/0",{"payload":"AQ==","contentTopic":"/app/1/name/proto"}]"#,
    r#"["an id",["/app/1/name/proto"],"/waku/2/rs/0/0"]"#,
    r#"["an id"]"#,
    " \n\t[[]]",
    "\"text\"",
    "17",
    "null",
    "true",
];

const NO_ARRAYS: [&str; 8] = [
    "{}",
    r#"{"0":"/waku/2/rs/0/0"}"#,
    r#"["/waku/2/rs/0/0",1]"#,
    r#"[["/waku/2/rs/0/0"]]"#,
    "\"text\"",
    "17",
    "null",
    "[null]",
];

#[tokio::test]
async fn a_body_of_another_type_is_refused_by_every_route() {
    let node = admin::node_of(admin::operated());
    let description = get(&node, "/openapi.json").await.json();
    let mut routes = 0;
    for (path, methods) in description["paths"].as_object().expect("an object") {
        let uri = path.replace("{pubsubTopic}", SHARD_0);
        for (method, operation) in methods.as_object().expect("an object") {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let Some(schema) = schema.as_str().and_then(|schema| schema.rsplit('/').next()) else { continue };
            let kind = description["components"]["schemas"][schema]["type"].clone();
            let (wanted, bodies) = match kind.as_str() {
                Some("object") => ("object", &NO_OBJECTS[..]),
                Some("array") => ("JSON array", &NO_ARRAYS[..]),
                _ => panic!("{schema} is {kind}"),
            };
            routes += 1;
            for body in bodies {
                let answer = send(&node, &method.to_uppercase(), &uri, *body).await;
                assert_eq!(answer.status, 400, "{method} {uri} {body}: {}", answer.text);
                assert!(answer.text.contains(wanted), "{method} {uri} {body}: {}", answer.text);
            }
        }
    }
    assert_eq!(routes, 13, "all routes that have a body");
    assert!(node.pushed.lock().expect("no test panics here").is_empty());
    assert_eq!(get(&node, &format!("/relay/v1/messages/{SHARD_0}")).await.status, 404, "nothing was subscribed to");
    let still: Value = get(&node, "/openapi.json").await.json();
    assert_eq!(still, description);
}
