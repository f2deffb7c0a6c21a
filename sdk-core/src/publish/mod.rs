//! Publishing: what a publish says, how it stands in a request, and how it is read back.
//!
//! The client's direction (`options → request`) and the server's (`request → options`) share the
//! rules in [`options`], so the two cannot disagree.

mod content;
mod headers;
pub mod options;
mod target;

#[cfg(feature = "server")]
pub use content::agreed_content_type;
pub use content::{Content, check_utf8, is_form};
pub use headers::{ForwardedHeaders, HeaderPair};
pub use options::{Callback, PublishOptions};
pub use target::PublishTarget;

use crate::contract::{Method, paths};
use crate::destination::Destination;
use crate::error::Error;
use crate::ids::{MessageId, Name};
use crate::json::Json;
use crate::json::shape::{Shape, or, required};
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation, read_if, typed};
use crate::retry::Idempotence;
use crate::wire::{Headers, Request, Response};

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

pub(crate) static PUBLISHED: Shape = Shape::Object(&[
    required("messageId", Shape::Text),
    required("queue", Shape::Name),
    or("deduplicated", Shape::Flag, "false"),
]);

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

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        if self.is_sent_as_batch() {
            return self.as_batch().request(endpoint);
        }
        let (queue, slash) = self.options.queue.as_ref().map_or(("", ""), |queue| (queue.as_str(), "/"));
        let path = [paths::PUBLISH, queue, slash, self.destination.as_str()].concat();
        request(endpoint, &path, &self.content, self.options.to_headers_without_queue()?)
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        if self.is_sent_as_batch() {
            return crate::batch::read_batch_of_one(response, circumstances).map(Some);
        }
        let mut answered = read_if(&[200, 202], "publish", &PUBLISHED, response, circumstances)?;
        // The status says it, whatever the body does.
        if let (Some(published), 202) = (&mut answered, response.status) {
            published.replace("deduplicated", true);
        }
        Ok(answered)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// A publish request to `path`, which already names the destination or the group.
pub(crate) fn request(
    endpoint: &Endpoint,
    path: &str,
    content: &Content,
    options: Headers,
) -> Result<Request, Error> {
    let body = content.checked_body("body")?;
    let mut request = endpoint.request(Method::Post, path, body);
    request.headers.extend(options);
    if let Some(content_type) = content.checked_content_type()? {
        request.headers.push(("content-type".to_owned(), content_type.to_owned()));
    }
    // The names are proven where they come from. What HTTP libraries refuse in a value, they do not name.
    let is_legal = |value: &str| value.bytes().all(|byte| byte == b'\t' || !byte.is_ascii_control());
    match request.headers.iter().find(|(_, value)| !is_legal(value)) {
        None => Ok(request),
        Some((name, _)) => {
            let rule = "must be legal HTTP headers: a value holds control characters";
            Err(crate::InvalidInput::with_rule("headers", rule, name).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_of_the_shapes() {
        PUBLISHED.holds::<Published>();
    }
}
