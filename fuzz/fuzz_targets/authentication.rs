//! Lists of checksums, signatures and keys, whatever they are made of, are right or lead to a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_install::providers::authentication::{ArchiveFacts, ExpiredKeys, PackageCheck, check};

fuzz_target!(|bytes: &[u8]| {
    let Some(([first, second], rest)) = bytes.split_first_chunk() else { return };
    let (document, rest) = rest.split_at(usize::from(*first).min(rest.len()));
    let (signature, key) = rest.split_at(usize::from(*second).min(rest.len()));
    let (sum, file) = ([*first; 32], "file".to_owned());
    let facts = ArchiveFacts { sum: Some(sum), size: document.len() as u64, h1: None };
    let signed = PackageCheck::Signed {
        document: document.to_vec(),
        signature: signature.to_vec(),
        keys: vec![String::from_utf8_lossy(key).into_owned()],
        required: true,
        expired_keys: ExpiredKeys::Refused,
    };
    for one in [PackageCheck::Listed { document: document.to_vec(), file, sum }, signed] {
        if let Ok(verdict) = check(&[one], &facts) {
            let _ = (verdict.keys(), verdict.signed(), verdict.local());
        }
    }
});
