//! URL groups: named sets of endpoints, and publishing to all of one (contract/http-queue.md, "URL groups").

use bytes::Bytes;

use crate::contract::{Method, limits, paths};
use crate::destination::Destination;
use crate::error::Error;
use crate::ids::{MessageId, Name};
use crate::input::InvalidInput;
use crate::json::Json;
use crate::json::shape::{Shape, required};
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation, deleted, read_if, read_ok, typed};
use crate::publish::{self, Content, PublishOptions};
use crate::retry::Idempotence;
use crate::wire::{Request, Response};

/// One copy of a message for each endpoint of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishToGroup {
    /// The group.
    pub group: Name,
    /// What each copy carries.
    pub content: Content,
    /// How each copy is delivered; a deduplication id is scoped to the endpoint.
    pub options: PublishOptions,
}

/// One copy of a message to a group.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishedCopy {
    /// The copy's id.
    pub message_id: MessageId,
    /// The endpoint it goes to.
    pub url: Destination,
    /// The queue it went into.
    pub queue: Name,
    /// Whether this copy was already there.
    pub deduplicated: bool,
}

static COPY: Shape = Shape::Object(&[
    required("messageId", Shape::Text),
    required("url", Shape::Url),
    required("queue", Shape::Name),
    required("deduplicated", Shape::Flag),
]);

impl Operation for PublishToGroup {
    type Output = Vec<PublishedCopy>;

    fn idempotence(&self) -> Idempotence {
        self.options.idempotence()
    }

    fn prepare(&mut self, mint: &mut Mint) {
        self.options.mint_deduplication_id(mint);
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        let path = [paths::PUBLISH, self.group.as_str()].concat();
        publish::request(endpoint, &path, &self.content, self.options.to_headers()?)
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_if(&[200, 202], "publish to a group", &Shape::List(&COPY), response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// A URL group.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Its name.
    pub name: Name,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds.
    pub updated_at: i64,
    /// To 100, in the order they were added.
    pub endpoints: Vec<GroupEndpoint>,
}

/// Where a group's copies go.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GroupEndpoint {
    /// The destination, as written.
    pub url: Destination,
}

static GROUP: Shape = Shape::Object(&[
    required("name", Shape::Name),
    required("createdAt", Shape::Integer),
    required("updatedAt", Shape::Integer),
    required("endpoints", Shape::List(&ENDPOINT)),
]);

static ENDPOINT: Shape = Shape::Object(&[required("url", Shape::Url)]);

/// The body of a change of endpoints.
#[cfg(feature = "server")]
#[derive(Debug, serde::Deserialize)]
struct Endpoints {
    endpoints: Vec<WireEndpoint>,
}

#[cfg(feature = "server")]
#[derive(Debug, serde::Deserialize)]
struct WireEndpoint {
    url: String,
}

/// Reads the endpoints of a change from a request's body.
///
/// # Errors
/// [`InvalidInput`] naming what is wrong, with the endpoint's index.
#[cfg(feature = "server")]
pub fn endpoints_from_json(body: &[u8]) -> Result<Vec<Destination>, InvalidInput> {
    let read: Endpoints = serde_json::from_slice(body).map_err(|error| {
        InvalidInput::new("endpoints", format!("endpoints must be [{{\"url\"}}, …]: {error}"))
    })?;
    let urls = read.endpoints.iter().enumerate();
    let urls: Vec<_> = urls
        .map(|(index, endpoint)| {
            Destination::parse("url", &endpoint.url).map_err(|error| error.at_index(index))
        })
        .collect::<Result<_, _>>()?;
    check_endpoints(&urls)?;
    Ok(urls)
}

fn check_endpoints(urls: &[Destination]) -> Result<(), InvalidInput> {
    if (1..=limits::MAX_GROUP_ENDPOINTS).contains(&urls.len()) {
        return Ok(());
    }
    let rule = format!("must be 1 to {}", limits::MAX_GROUP_ENDPOINTS);
    Err(InvalidInput::with_rule("endpoints", rule, &urls.len().to_string()))
}

fn topic_path(name: &Name) -> String {
    [paths::TOPICS, "/", name.as_str()].concat()
}

/// Lists all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListGroups;

impl Operation for ListGroups {
    type Output = Vec<Group>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, paths::TOPICS, Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("the list of groups", &Shape::List(&GROUP), response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Reads one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetGroup {
    /// Its name.
    pub name: Name,
}

impl Operation for GetGroup {
    type Output = Group;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Get, &topic_path(&self.name), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("a group", &GROUP, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// How a group's endpoints change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointChange {
    /// Adds; the group is made if missing, a known URL is kept.
    Add,
    /// Removes; the group may become empty.
    Remove,
}

/// Adds or removes endpoints; answers the group as it is then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeEndpoints {
    /// The group.
    pub name: Name,
    /// What is done with the URLs.
    pub change: EndpointChange,
    /// 1 to 100.
    pub urls: Vec<Destination>,
}

impl Operation for ChangeEndpoints {
    type Output = Group;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        check_endpoints(&self.urls)?;
        let method = match self.change {
            EndpointChange::Add => Method::Post,
            EndpointChange::Remove => Method::Delete,
        };
        let endpoints =
            self.urls.iter().map(|url| Json::object([("url", url.as_str().into())])).collect::<Vec<_>>();
        let path = [&topic_path(&self.name), "/endpoints"].concat();
        Ok(endpoint.json_request(method, &path, &Json::object([("endpoints", endpoints.into())])))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        read_ok("a change of endpoints", &GROUP, response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

/// Deletes a group; messages already queued still go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteGroup {
    /// Its name.
    pub name: Name,
}

impl Operation for DeleteGroup {
    type Output = ();

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request, Error> {
        Ok(endpoint.request(Method::Delete, &topic_path(&self.name), Bytes::new()))
    }

    fn answer(&mut self, response: &Response, circumstances: Circumstances) -> Result<Option<Json>, Error> {
        deleted(response, circumstances)
    }

    fn output(answer: Json) -> Result<Self::Output, Error> {
        typed(&answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_of_the_shapes() {
        COPY.holds::<PublishedCopy>();
        GROUP.holds::<Group>();
    }
}
