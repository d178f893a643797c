//! Lists of checksums, signatures and keys, whatever they are made of, are right or lead to a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_install::providers::authentication::{ArchiveFacts, Check, check};

fuzz_target!(|parts: (&[u8], &[u8], &str, [u8; 32], &str)| {
    let (document, signature, key, sum, file) = parts;
    let facts = ArchiveFacts { sum, size: document.len() as u64, h1: None };
    let listed = Check::Listed { document: document.to_vec(), file: file.to_owned(), sum };
    let signed = Check::Signed {
        document: document.to_vec(),
        signature: signature.to_vec(),
        keys: vec![key.to_owned()],
        required: true,
        refuse_expired: true,
    };
    for one in [listed, signed] {
        if let Ok(verdict) = check(&[one], &facts) {
            let _ = (verdict.keys(), verdict.vouched(true), verdict.local());
        }
    }
});
