//! The programs that the documents show do what they say.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use chronq_server::testing::TestServer;

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_publisher_publishes_the_receiver_verifies() {
    let server = TestServer::start().await.expect("a server");
    let listen = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its number");
    let public_url = format!("http://{listen}/hook");

    let mut receiver = Command::new(env!("CARGO_BIN_EXE_receiver"))
        .env("CHRONQ_CURRENT_SIGNING_KEY", server.signing_keys().0)
        .env("PUBLIC_URL", &public_url)
        .env("LISTEN", listen.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .map(Running)
        .expect("the receiver starts");
    let stdout = receiver.0.stdout.take().expect("piped");
    let mut lines = BufReader::new(stdout).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), format!("listening on {listen}"));

    let (url, token) = (server.url(), server.token());
    let published = tokio::task::spawn_blocking(move || {
        Command::new(env!("CARGO_BIN_EXE_publish"))
            .arg(public_url)
            .env("CHRONQ_URL", url)
            .env("CHRONQ_TOKEN", token)
            .output()
            .expect("the publisher runs")
    })
    .await
    .expect("the publisher ends");
    let printed = String::from_utf8_lossy(&published.stdout);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    assert!(printed.ends_with("delivered after 0 retries\n"), "{printed}");
    assert!(lines.next().expect("a line").expect("text").starts_with("verified jwt_"));
    server.shutdown().await;
}
