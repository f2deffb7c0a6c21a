//! URL groups: named sets of endpoints, and publishing to all of one (contract/http-queue.md, "URL groups").

use bytes::Bytes;
use http::{Method as HttpMethod, Request, Response, StatusCode};

use crate::contract::{limits, paths};
use crate::destination::Destination;
use crate::error::Error;
use crate::ids::{MessageId, Name};
use crate::input::InvalidInput;
use crate::mint::Mint;
use crate::operation::{Circumstances, Endpoint, Operation, Parsed, deleted, ok_json, read_json, refusal};
use crate::publish::{self, Content, PublishOptions};
use crate::retry::Idempotence;

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

impl Operation for PublishToGroup {
    type Output = Vec<PublishedCopy>;

    fn idempotence(&self) -> Idempotence {
        self.options.idempotence()
    }

    fn prepare(&mut self, mint: &mut Mint) {
        self.options.mint_deduplication_id(mint);
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        let path = format!("{}{}", paths::PUBLISH, self.group);
        publish::request(endpoint, &path, &self.content, &self.options)
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        match response.status() {
            StatusCode::OK | StatusCode::ACCEPTED => {
                read_json("publish to a group", response).map(Parsed::Done)
            }
            _ => Err(refusal(response, circumstances)),
        }
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

/// The body of a change of endpoints.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Endpoints {
    endpoints: Vec<WireEndpoint>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
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
    format!("{}/{name}", paths::TOPICS)
}

/// Lists all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListGroups;

impl Operation for ListGroups {
    type Output = Vec<Group>;

    fn idempotence(&self) -> Idempotence {
        Idempotence::Safe
    }

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        endpoint.request(HttpMethod::GET, paths::TOPICS, Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        ok_json("the list of groups", response, circumstances).map(Parsed::Done)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        endpoint.request(HttpMethod::GET, &topic_path(&self.name), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        ok_json("a group", response, circumstances).map(Parsed::Done)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        check_endpoints(&self.urls)?;
        let method = match self.change {
            EndpointChange::Add => HttpMethod::POST,
            EndpointChange::Remove => HttpMethod::DELETE,
        };
        let endpoints = self.urls.iter().map(|url| WireEndpoint { url: url.to_string() }).collect();
        endpoint.json_request(
            method,
            &format!("{}/endpoints", topic_path(&self.name)),
            &Endpoints { endpoints },
        )
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        ok_json("a change of endpoints", response, circumstances).map(Parsed::Done)
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

    fn request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
        endpoint.request(HttpMethod::DELETE, &topic_path(&self.name), Bytes::new())
    }

    fn parse(&self, response: &Response<Bytes>, circumstances: Circumstances) -> Result<Parsed<Self>, Error> {
        deleted(response, circumstances).map(Parsed::Done)
    }
}
