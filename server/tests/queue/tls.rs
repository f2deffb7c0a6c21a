//! Deliveries over https: which receivers are trusted, and what is said of those that are not.

use std::sync::Arc;

use chronq_server::testing::TestServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::process::{Dev, until};
use crate::support::*;

/// A certificate authority of one test.
type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

/// Inboxes behind TLS, under a certificate for `localhost` alone.
struct TlsReceiver {
    inboxes: TestServer,
    port: u16,
}

impl TlsReceiver {
    async fn start(authority: &Authority) -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, authority).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a configuration");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let port = listener.local_addr().expect("address").port();
        let inboxes = TestServer::start().await.expect("inboxes");
        tokio::spawn(terminate(listener, TlsAcceptor::from(Arc::new(config)), inboxes.address()));
        Self { inboxes, port }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/dev/inbox/a", self.port)
    }

    fn has_received_nothing(&self) -> bool {
        self.inboxes.state().inboxes.as_ref().expect("dev").requests("a").is_empty()
    }
}

/// Takes TLS off and hands the bytes on; a client that refuses the certificate just goes away.
async fn terminate(listener: TcpListener, acceptor: TlsAcceptor, inboxes: std::net::SocketAddr) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(mut outside) = acceptor.accept(stream).await else { return };
            let mut inside = TcpStream::connect(inboxes).await.expect("connects");
            let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
        });
    }
}

/// A server that trusts this authority the way an operator has it.
fn server_trusting(authority: &Authority, arguments: &[&str]) -> (Dev, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).expect("written");
    let server = Dev::start_in(arguments, &[("SSL_CERT_FILE", file.to_str().expect("utf-8"))]);
    (server, folder)
}

/// Publishes with one quick retry; answers the message when it has failed.
fn failed(server: &Dev, url: &str) -> Value {
    let id = server.publish(url, "chronq-retries: 1\r\nchronq-retry-delay: 1ms\r\n");
    until("the failure", || {
        let found = server.call("GET", &format!("/v2/messages/{id}"), "", "");
        (found["state"] == "failed").then_some(found)
    })
}

/// No answer came, twice, and why.
fn assert_no_answer(message: &Value, reason: &str) {
    assert_eq!(message["response"]["status"], 0, "{message}");
    assert_eq!(message["retried"], 1, "{message}");
    let body = message["response"]["body"].as_str().expect("a reason");
    assert!(body.starts_with(reason), "{body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_under_a_trusted_authority_gets_a_signature_for_its_https_url() {
    let trusted = authority("ours");
    let receiver = TlsReceiver::start(&trusted).await;
    let (server, _folder) = server_trusting(&trusted, &[]);
    let url = receiver.url("localhost");
    let id = server.publish(&url, "");
    let request = &received(&receiver.inboxes, "a", 1).await[0];
    assert_eq!(verify(request, &url).claims.sub.as_deref(), Some(url.as_str()));
    assert_eq!(request.header("chronq-message-id"), Some(id.as_str()));
    assert_eq!(request.header("host"), Some(format!("localhost:{}", receiver.port).as_str()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_is_not_trusted_or_not_the_one_named_gets_nothing_and_is_tried_again() {
    let trusted = authority("ours");
    let (server, _folder) = server_trusting(&trusted, &[]);
    let stranger = TlsReceiver::start(&authority("a stranger")).await;
    let message = failed(&server, &stranger.url("localhost"));
    assert_no_answer(&message, "TLS failed: invalid peer certificate: UnknownIssuer");
    let known = TlsReceiver::start(&trusted).await;
    let message = failed(&server, &known.url("127.0.0.1"));
    assert_no_answer(
        &message,
        "TLS failed: invalid peer certificate: certificate not valid for name \"127.0.0.1\"",
    );
    assert!(stranger.has_received_nothing() && known.has_received_nothing());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guard_decides_on_the_dialled_address_of_an_https_destination_too() {
    let trusted = authority("ours");
    let receiver = TlsReceiver::start(&trusted).await;
    let (server, _folder) = server_trusting(&trusted, &["--egress", "public"]);
    let message = failed(&server, &receiver.url("localhost"));
    assert_no_answer(&message, "blocked: the destination's address is not allowed");
    let target = format!("/v2/publish/{}", receiver.url("127.0.0.1"));
    let refused = server.call("POST", &target, "", "x");
    let sentence = refused["error"].as_str().expect("an error");
    assert!(sentence.starts_with("destination must not lead to an address"), "{sentence}");
    assert!(receiver.has_received_nothing());
}
