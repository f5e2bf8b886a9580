//! The JSON form of a message (nwaku's REST API): strict on the way in, complete on the way out.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use levada_archive::StoredBody;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

use super::backend::{CachedMessage, PublishMessage};
use super::text;

/// The most bytes of `meta` in a message (14/WAKU2-MESSAGE).
pub const META_BYTES_MAX: usize = 64;

const FIELDS: &[&str] = &["payload", "contentTopic", "version", "timestamp", "meta", "ephemeral", "proof"];

/// Room for names, punctuation, the numbers and a content topic beside the base64 text, in bytes.
const BODY_OVERHEAD_BYTES: usize = 8 * 1024;

/// The largest JSON body that can hold a message of `message_bytes_max` encoded bytes.
///
/// Base64 turns 3 bytes into 4. What passes this bound and is still too large is found when the message is encoded.
pub(super) const fn body_bytes_max(message_bytes_max: usize) -> usize {
    (message_bytes_max.div_ceil(3) * 4).saturating_add(BODY_OVERHEAD_BYTES)
}

/// Reads a message from a JSON body; the error is half a sentence that names the field and the place.
pub(super) fn parse(body: &[u8]) -> Result<PublishMessage, String> {
    match serde_json::from_slice::<Incoming>(body) {
        Ok(Incoming(message)) => Ok(message),
        Err(error) => Err(text::shortened(&error.to_string()).into_owned()),
    }
}

/// A message as it comes in: a type of its own, so that the backend's type promises no JSON form.
pub(super) struct Incoming(pub(super) PublishMessage);

impl<'de> Deserialize<'de> for Incoming {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor).map(Self)
    }
}

struct MessageVisitor;

/// The fields read so far; a field that is there twice is refused, as nwaku does.
#[derive(Default)]
struct Fields {
    payload: Option<Vec<u8>>,
    content_topic: Option<String>,
    version: Option<u32>,
    timestamp: Option<i64>,
    meta: Option<Vec<u8>>,
    ephemeral: Option<bool>,
    proof: Option<Vec<u8>>,
}

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = PublishMessage;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("a message object such as {\"payload\": \"<base64>\", \"contentTopic\": \"/app/1/name/proto\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PublishMessage, A::Error> {
        let mut fields = Fields::default();
        while let Some(Name(name)) = map.next_key()? {
            match name.as_ref() {
                "payload" => fields.payload = Some(bytes(&mut map, "payload", fields.payload.is_some())?),
                "contentTopic" => {
                    fields.content_topic = Some(value(&mut map, "contentTopic", fields.content_topic.is_some())?);
                }
                "version" => fields.version = Some(value(&mut map, "version", fields.version.is_some())?),
                "timestamp" => fields.timestamp = Some(value(&mut map, "timestamp", fields.timestamp.is_some())?),
                "meta" => fields.meta = Some(bytes(&mut map, "meta", fields.meta.is_some())?),
                "ephemeral" => fields.ephemeral = Some(value(&mut map, "ephemeral", fields.ephemeral.is_some())?),
                "proof" => fields.proof = Some(bytes(&mut map, "proof", fields.proof.is_some())?),
                unknown => return Err(de::Error::custom(unknown_field(unknown))),
            }
        }
        fields.finish()
    }
}

impl Fields {
    fn finish<E: de::Error>(self) -> Result<PublishMessage, E> {
        let payload = self.payload.ok_or_else(|| E::custom("field `payload` is missing"))?;
        if payload.is_empty() {
            return Err(E::custom("field `payload` is empty, give at least one byte as base64"));
        }
        let content_topic = self.content_topic.ok_or_else(|| E::custom("field `contentTopic` is missing"))?;
        if content_topic.is_empty() {
            return Err(E::custom("field `contentTopic` is empty, give a topic such as /app/1/name/proto"));
        }
        if let Some(meta) = self.meta.as_ref().filter(|meta| meta.len() > META_BYTES_MAX) {
            let bytes = meta.len();
            return Err(E::custom(format_args!(
                "field `meta` has {bytes} bytes, at most {META_BYTES_MAX} are allowed"
            )));
        }
        Ok(PublishMessage {
            payload,
            content_topic,
            version: self.version.unwrap_or(0),
            timestamp_ns: self.timestamp.filter(|&timestamp_ns| timestamp_ns != 0),
            meta: self.meta,
            ephemeral: self.ephemeral.unwrap_or(false),
            proof: self.proof,
        })
    }
}

fn unknown_field(name: &str) -> String {
    let shown = text::shortened(name);
    match text::nearest(name, FIELDS) {
        Some(near) => format!("unknown field `{shown}`, did you mean `{near}`"),
        None => format!("unknown field `{shown}`, the fields are {}", FIELDS.join(", ")),
    }
}

/// Reads the value of the field `name`, and puts its name before whatever is wrong with it.
fn value<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    map: &mut A,
    name: &'static str,
    repeated: bool,
) -> Result<T, A::Error> {
    if repeated {
        return Err(de::Error::custom(format_args!("field `{name}` is given twice")));
    }
    map.next_value().map_err(|error| de::Error::custom(format_args!("field `{name}`: {error}")))
}

fn bytes<'de, A: MapAccess<'de>>(map: &mut A, name: &'static str, repeated: bool) -> Result<Vec<u8>, A::Error> {
    value::<FromBase64, A>(map, name, repeated).map(|decoded| decoded.0)
}

/// A field name, borrowed from the body unless it has escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a field name")
            }

            fn visit_borrowed_str<E: de::Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// RFC 4648 section 4, with or without padding.
const ORDINARY: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

/// RFC 4648 section 5, which has - and _ for + and /, with or without padding.
const FOR_URLS: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Bytes from a base64 string of either alphabet, decoded once from the body into their own buffer. nwaku's decoder takes the same.
struct FromBase64(Vec<u8>);

impl<'de> Deserialize<'de> for FromBase64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64Visitor;

        impl Visitor<'_> for Base64Visitor {
            type Value = FromBase64;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a base64 string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<FromBase64, E> {
                // Nearly all texts are of the ordinary alphabet: the other one is looked for only when that is not so.
                let decoded = ORDINARY
                    .decode(text)
                    .or_else(|error| if text.contains(['-', '_']) { FOR_URLS.decode(text) } else { Err(error) });
                decoded.map(FromBase64).map_err(|error| E::custom(format_args!("not base64: {error}")))
            }
        }

        deserializer.deserialize_str(Base64Visitor)
    }
}

/// A message as it goes out, borrowed from the cache or the archive.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outgoing<'a> {
    #[serde(serialize_with = "as_base64")]
    pub(super) payload: &'a [u8],
    pub(super) content_topic: &'a str,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_base64_some")]
    pub(super) meta: Option<&'a [u8]>,
    pub(super) version: u32,
    pub(super) timestamp: i64,
    pub(super) ephemeral: bool,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_base64_some")]
    pub(super) proof: Option<&'a [u8]>,
}

impl<'a> From<&'a CachedMessage> for Outgoing<'a> {
    fn from(message: &'a CachedMessage) -> Self {
        Self {
            payload: &message.payload,
            content_topic: &message.content_topic,
            meta: message.meta.as_deref(),
            version: message.version,
            timestamp: message.timestamp_ns,
            ephemeral: message.ephemeral,
            // A relayed message shows its proof even when it has none: clients of this API expect the field.
            proof: Some(&message.proof),
        }
    }
}

impl<'a> From<&'a StoredBody> for Outgoing<'a> {
    fn from(body: &'a StoredBody) -> Self {
        Self {
            payload: &body.payload,
            content_topic: &body.content_topic,
            meta: Some(&*body.meta).filter(|meta| !meta.is_empty()),
            version: body.version,
            timestamp: body.timestamp,
            // Ephemeral messages are never archived, and proofs are not kept.
            ephemeral: false,
            proof: None,
        }
    }
}

fn as_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn as_base64_some<S: Serializer>(bytes: &Option<&[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    as_base64(bytes.unwrap_or_default(), serializer)
}
