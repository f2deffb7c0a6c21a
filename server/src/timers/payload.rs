//! What a stored payload is to its reader: opened, unpacked, and as JSON where it is JSON.

use std::io::Read;

use chronq::timer::accept::Unpacked;
use chronq::timer::rules::encode_payload;
use serde_json::value::RawValue;

use super::seal::DataKeys;
use crate::store::timers::Packing;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A frame that wants a larger window than 32 MiB is not for payloads of one.
const MAX_WINDOW_LOG: u32 = 25;

/// Looks into a zstd frame, and no further than `limit` bytes.
pub fn look_into(frame: &[u8], limit: usize) -> Unpacked {
    match inflate(frame, limit) {
        Some(unpacked) if unpacked.len() > limit => Unpacked::TooLarge,
        Some(_) => Unpacked::Fits,
        None => Unpacked::NotZstd,
    }
}

/// The content of a frame, cut off one byte beyond `limit`.
fn inflate(frame: &[u8], limit: usize) -> Option<Vec<u8>> {
    if !frame.starts_with(&ZSTD_MAGIC) {
        return None;
    }
    let mut decoder = zstd::stream::read::Decoder::new(frame).ok()?;
    decoder.window_log_max(MAX_WINDOW_LOG).ok()?;
    let mut unpacked = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    decoder.take(most).read_to_end(&mut unpacked).ok()?;
    Some(unpacked)
}

/// A delivered payload as `data`: parsed JSON, or `{"_raw_b64":…}` where it is none. What cannot be
/// opened (its key is gone) is handed out as stored.
pub fn data(
    keys: &DataKeys,
    tenant: &str,
    queue: &str,
    payload: Vec<u8>,
    packing: Packing,
    limit: usize,
) -> Box<RawValue> {
    let opened = if packing.sealed { keys.open(tenant, queue, &payload) } else { None };
    let readable = opened.is_some() || !packing.sealed;
    let mut content = opened.unwrap_or(payload);
    if packing.zstd && readable {
        match inflate(&content, limit) {
            Some(unpacked) if unpacked.len() <= limit => content = unpacked,
            _ => return raw(&content),
        }
    }
    std::str::from_utf8(&content)
        .ok()
        .and_then(|text| serde_json::from_str::<Box<RawValue>>(text).ok())
        .unwrap_or_else(|| raw(&content))
}

fn raw(content: &[u8]) -> Box<RawValue> {
    // Base64 needs no escaping, so this is JSON; `null` could only follow a fault of serde_json.
    let text = format!("{{\"_raw_b64\":\"{}\"}}", encode_payload(content));
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &[u8], packing: Packing) -> String {
        data(&DataKeys::default(), "t", "q", payload.to_vec(), packing, 1_024).get().to_owned()
    }

    #[test]
    fn json_stays_as_it_was_written_and_the_rest_is_base64() {
        let plain = Packing::default();
        assert_eq!(read(b" {\"b\":1.50, \"a\":[]} ", plain), "{\"b\":1.50, \"a\":[]}");
        assert_eq!(read(b"hello", plain), "{\"_raw_b64\":\"aGVsbG8=\"}");
        assert_eq!(read(b"\xff", plain), "{\"_raw_b64\":\"/w==\"}");
        assert_eq!(read(b"", plain), "{\"_raw_b64\":\"\"}");
    }

    #[test]
    fn a_zstd_frame_is_unpacked_within_its_limit() {
        let packing = Packing { zstd: true, ..Packing::default() };
        let frame = zstd::bulk::compress(b"{\"n\":1}", 3).expect("frame");
        assert_eq!(read(&frame, packing), "{\"n\":1}");
        let bomb = zstd::bulk::compress(&vec![b' '; 1_000_000], 3).expect("frame");
        assert!(bomb.len() < 1_024);
        assert_eq!(look_into(&bomb, 1_024), Unpacked::TooLarge);
        assert_eq!(look_into(&bomb, 1_000_000), Unpacked::Fits);
        assert_eq!(look_into(b"{}", 1_024), Unpacked::NotZstd);
        assert_eq!(look_into(&frame[..frame.len() - 1], 1_024), Unpacked::NotZstd);
        assert_eq!(look_into(b"", 1_024), Unpacked::NotZstd);
    }

    #[test]
    fn what_cannot_be_opened_is_handed_out_as_stored() {
        let packing = Packing { sealed: true, ..Packing::default() };
        assert_eq!(read(b"\x01\x00", packing), "{\"_raw_b64\":\"AQA=\"}");
    }
}
