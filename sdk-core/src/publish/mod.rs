//! Publishing: what a publish says, how it stands in a request, and how it is read back.
//!
//! The client's direction (`options → request`) and the server's (`request → options`) share the
//! rules in [`options`], so the two cannot disagree.

mod content;
mod headers;
pub mod options;
mod target;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request, Response, StatusCode, header};

pub use content::{Content, check_content_type, check_utf8, is_form};
pub use headers::{ForwardedHeaders, HeaderPair};
pub use options::{Callback, PublishOptions};
pub use target::PublishTarget;

use crate::contract::paths;
use crate::destination::Destination;
use crate::error::Error;
use crate::ids::{MessageId, Name};
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation, Parsed, read_json, refusal};
use crate::retry::Idempotence;

/// One message for one destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Publish {
    /// Where it goes, byte for byte as written.
    pub destination: Destination,
    /// What it carries.
    pub content: Content,
    /// How it is delivered; what is not given is the queue's setting, then the built-in default.
    pub options: PublishOptions,
}

/// What a publish answers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The id to look the message up by, and the receiver's idempotency key.
    pub message_id: MessageId,
    /// The queue it went into.
    pub queue: Name,
    /// Whether it was already there: the first message's id is the one above. On the answer to a
    /// repeated publish it means that the attempt before had arrived.
    #[serde(default)]
    pub deduplicated: bool,
}

impl Publish {
    /// A publish to `destination`, with the built-in or the queue's settings.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::InvalidInput) where the destination is none.
    pub fn to(destination: &str, content: Content) -> Result<Self, Error> {
        let destination = Destination::parse("destination", destination)?;
        Ok(Self { destination, content, options: PublishOptions::default() })
    }

    /// The request of a batch entry, for a destination that URL libraries would rewrite in a path.
    fn is_sent_as_batch(&self) -> bool {
        !self.destination.survives_url_libraries()
    }

    fn as_batch(&self) -> crate::batch::Batch {
        crate::batch::Batch { entries: vec![self.clone()] }
    }
}

impl Operation for Publish {
    type Output = Published;

    fn idempotence(&self) -> Idempotence {
        self.options.idempotence()
    }

    fn prepare(&mut self, mint: &mut Mint) {
        self.options.mint_deduplication_id(mint);
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        if self.is_sent_as_batch() {
            return self.as_batch().request(endpoint);
        }
        let queue = self.options.queue.as_ref().map(|queue| format!("{queue}/")).unwrap_or_default();
        let path = format!("{}{queue}{}", paths::PUBLISH, self.destination);
        request(endpoint, &path, &self.content, &self.options.without_queue())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        if self.is_sent_as_batch() {
            return crate::batch::parse_batch_of_one(response, circumstances).map(Parsed::Done);
        }
        parse_published(response, circumstances).map(Parsed::Done)
    }
}

fn parse_published(response: &Response<Bytes>, circumstances: Circumstances) -> Result<Published, Error> {
    match response.status() {
        StatusCode::OK => read_json("publish", response),
        StatusCode::ACCEPTED => read_json("publish", response)
            .map(|published: Published| Published { deduplicated: true, ..published }),
        _ => Err(refusal(response, circumstances)),
    }
}

/// A publish request to `path`, which already names the destination or the group.
pub(crate) fn request(
    endpoint: &Endpoint,
    path: &str,
    content: &Content,
    options: &PublishOptions,
) -> Result<Request<Bytes>, Error> {
    let body = content.checked_body("body")?;
    let mut request = endpoint.request(HttpMethod::POST, path, body)?;
    let headers = request.headers_mut();
    for (name, value) in options.to_headers()? {
        append(headers, &name, &value)?;
    }
    if let Some(content_type) = content.checked_content_type()? {
        append(headers, header::CONTENT_TYPE.as_str(), content_type)?;
    }
    Ok(request)
}

fn append(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Error> {
    let refuse = |what: &str| {
        crate::InvalidInput::with_rule("headers", format!("must be legal HTTP headers: {what}"), name)
    };
    let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse("a name is no token"))?;
    let value =
        HeaderValue::from_bytes(value.as_bytes()).map_err(|_| refuse("a value holds control characters"))?;
    headers.append(key, value);
    Ok(())
}
