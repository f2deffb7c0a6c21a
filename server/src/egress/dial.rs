//! Makes connections: resolves, asks the guard, dials, and wraps in TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chronq::Destination;
use chronq::destination::Scheme;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::{Literal, literal_address};
use super::guard::Guard;
use super::pool::Connection;
use super::target::Target;
use super::{NoAnswer, with_sources};

/// An answer's head beyond this is no answer; 16 KiB of it are kept.
const MAX_HEAD_BYTES: usize = 64 * 1_024;
const MAX_RESPONSE_HEADERS: usize = 256;
/// One dead address must not use up the attempt where the name has another.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the destination, for one request with this target or, if the library can write it,
/// for many.
pub(super) async fn connect(
    guard: &Guard,
    destination: &Destination,
    target: &Target,
) -> Result<Connection, NoAnswer> {
    let addresses = allowed_addresses(guard, destination).await?;
    let stream = dial(&addresses).await?;
    match destination.scheme() {
        Scheme::Http => handshake(target.through(stream), target).await,
        Scheme::Https => {
            let stream = encrypt(stream, destination.host()).await?;
            handshake(target.through(stream), target).await
        }
    }
}

async fn allowed_addresses(guard: &Guard, destination: &Destination) -> Result<Vec<SocketAddr>, NoAnswer> {
    let (host, port) = (destination.host(), destination.port());
    let found: Vec<SocketAddr> = match literal_address(host) {
        Literal::Address(address) => vec![SocketAddr::new(address, port)],
        Literal::Malformed => return Err(NoAnswer::Resolve),
        Literal::Name => {
            tokio::net::lookup_host((host, port)).await.map_err(|_| NoAnswer::Resolve)?.collect()
        }
    };
    if found.is_empty() {
        return Err(NoAnswer::Resolve);
    }
    let allowed: Vec<SocketAddr> = found.into_iter().filter(|address| guard.allows(address.ip())).collect();
    if allowed.is_empty() { Err(NoAnswer::Blocked) } else { Ok(allowed) }
}

async fn dial(addresses: &[SocketAddr]) -> Result<TcpStream, NoAnswer> {
    let mut last = NoAnswer::Resolve;
    for address in addresses {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A request must not wait for the acknowledgement of its head (Nagle).
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = NoAnswer::Connect(kind_of(&error)),
            Err(_) => last = NoAnswer::Connect("no connection within 10s".to_owned()),
        }
    }
    Err(last)
}

/// What went wrong, without the address: the publisher wrote a name.
fn kind_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        _ => error.to_string(),
    }
}

async fn encrypt(
    stream: TcpStream,
    host: &str,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, NoAnswer> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = match literal_address(host) {
        Literal::Address(address) => ServerName::IpAddress(address.into()),
        Literal::Malformed | Literal::Name => ServerName::try_from(bare.trim_end_matches('.').to_owned())
            .map_err(|_| NoAnswer::Tls("the host is no legal name for a certificate".to_owned()))?,
    };
    let connector = TlsConnector::from(tls_config()?);
    connector.connect(name, stream).await.map_err(|error| NoAnswer::Tls(with_sources(&error)))
}

/// The system's certificate authorities, read at the first https delivery. A machine without any
/// still delivers over http.
fn tls_config() -> Result<Arc<ClientConfig>, NoAnswer> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CONFIG.get_or_init(load_tls_config).clone().map_err(NoAnswer::Tls)
}

fn load_tls_config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(
            "this machine has no certificate authorities: install ca-certificates, or set SSL_CERT_FILE"
                .to_owned(),
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

async fn handshake<S>(stream: S, target: &Target) -> Result<Connection, NoAnswer>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD_BYTES).max_headers(MAX_RESPONSE_HEADERS);
    let (sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| super::broken(&error))?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a destination ended");
        }
    });
    Ok(Connection::new(sender, driver, target.is_expressible()))
}
