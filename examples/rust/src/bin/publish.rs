//! Publishes one message and waits until it was delivered.
//!
//! Wants `CHRONQ_URL` and `CHRONQ_TOKEN`; the destination is the one argument.

use std::time::Duration;

use chronq::client::Client;
use chronq::contract::MessageState;
use chronq::publish::{Content, PublishOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let destination = std::env::args().nth(1).ok_or("usage: publish DESTINATION")?;
    let client = Client::from_env()?;

    let order = Content::json(&serde_json::json!({"orderId": 42}))?;
    let options = PublishOptions { retries: Some(5), ..PublishOptions::default() };
    let published = client.publish(&destination, order, options).await?;
    println!("published {} into {}", published.message_id, published.queue);

    loop {
        let message = client.messages().get(published.message_id.as_str()).await?;
        if message.state == MessageState::Completed {
            println!("delivered after {} retries", message.retried);
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
