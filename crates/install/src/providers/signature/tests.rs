//! Keys and signatures that GnuPG 2.2 made, for version 6 those of rPGP, and what the policy of providers says about them.

use std::fmt::Write as _;
use std::path::PathBuf;

use base64::Engine as _;
use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{ExpiredKeys, check};
use crate::openpgp::read_certificates;
use crate::openpgp::signing::SigningKey;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/openpgp/fixtures")
}

fn document() -> Vec<u8> {
    std::fs::read(fixtures().join("SHA256SUMS")).expect("because it is a fixture")
}

/// The key block and the signature of a fixture.
fn fixture(name: &str) -> (String, String) {
    let text = std::fs::read_to_string(fixtures().join(format!("{name}.asc"))).expect("because it is a fixture");
    let (key, signature) = text.split_once("-----BEGIN PGP SIGNATURE").expect("because it has both");
    (key.to_owned(), format!("-----BEGIN PGP SIGNATURE{signature}"))
}

fn verdict(name: &str, document: &[u8], expired: ExpiredKeys) -> Result<String, String> {
    let (key, signature) = fixture(name);
    check(document, signature.as_bytes(), &[key], expired)
}

/// The verdicts over several fixtures, without key ids.
fn verdicts(names: &[&str], expired: ExpiredKeys, expected: &Expect) {
    let mut shown = String::new();
    for name in names {
        let text = match verdict(name, &document(), expired) {
            Ok(_) => "signed".to_owned(),
            Err(reason) => {
                reason.split(' ').map(|word| if is_id(word) { "ID" } else { word }).collect::<Vec<_>>().join(" ")
            }
        };
        writeln!(shown, "{name}: {text}").expect("because memory can be written");
    }
    expected.assert_eq(&shown);
}

fn is_id(word: &str) -> bool {
    word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn signatures_of_all_supported_algorithms_are_verified() {
    let names = [
        "rsa2048",
        "rsa4096",
        "dsa2048",
        "ed25519",
        "nistp256",
        "nistp384",
        "nistp521",
        "secp256k1",
        "rsa2048-SHA1",
        "rsa2048-SHA256",
        "rsa2048-SHA384",
        "rsa2048-SHA512",
        "ed25519-SHA1",
        "ed25519-SHA224",
        "ed25519-SHA384",
        "dsa2048-SHA512",
        "dsa1024-SHA1",
        "nistp256-SHA512",
        "nistp384-SHA512",
        "text",
        "subkey",
        "two",
        "both",
        "v6",
        "v6-rsa",
        "ed25519-27",
    ];
    for name in names {
        verdict(name, &document(), ExpiredKeys::Refused).unwrap_or_else(|reason| panic!("{name}: {reason}"));
        let changed = [&document()[..], b"x"].concat();
        let reason = verdict(name, &changed, ExpiredKeys::Accepted).expect_err(name);
        assert_eq!(reason, "error checking signature: it is not one of this list of checksums", "{name}");
    }
}

#[test]
fn the_id_is_that_of_the_main_key() {
    let (key, _) = fixture("subkey");
    let certificates = read_certificates(&key).expect("because it is a key");
    let id: String = certificates[0].primary().id().iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(verdict("subkey", &document(), ExpiredKeys::Refused), Ok(id));
}

#[test]
fn unsupported_algorithms_have_a_reason() {
    verdicts(
        &["brainpoolP256r1", "rsa2048-SHA224", "ed448"],
        ExpiredKeys::Accepted,
        &expect![[r#"
            brainpoolP256r1: error checking signature: the key uses ECDSA on an unknown curve, which Yuba does not support
            rsa2048-SHA224: error checking signature: the signature uses RSA with SHA-224, which Yuba does not support
            ed448: error checking signature: the key uses Ed448, which Yuba does not support
        "#]],
    );
}

#[test]
fn expired_keys_and_signatures_are_refused_on_request() {
    let names = ["expired", "prolonged", "subkey-expired", "signature-expired", "ed25519"];
    verdicts(
        &names,
        ExpiredKeys::Accepted,
        &expect![[r#"
        expired: signed
        prolonged: signed
        subkey-expired: signed
        signature-expired: signed
        ed25519: signed
    "#]],
    );
    verdicts(
        &names,
        ExpiredKeys::Refused,
        &expect![[r#"
        expired: the signing key ID has expired
        prolonged: signed
        subkey-expired: the signing key ID has expired
        signature-expired: the signature by the key ID has expired
        ed25519: signed
    "#]],
    );
}

#[test]
fn keys_that_their_owner_has_withdrawn_are_refused() {
    let names = ["revoked", "subkey-revoked", "user-id-revoked", "certify-only", "future"];
    verdicts(
        &names,
        ExpiredKeys::Accepted,
        &expect![[r#"
        revoked: the signing key ID has been revoked
        subkey-revoked: the signing key ID has been revoked
        user-id-revoked: signed
        certify-only: signed
        future: the signature was made in the future: check the clock of this machine
    "#]],
    );
}

/// The verdict over a certificate with packets behind its main key and its user id.
fn verdict_with(key: &SigningKey, of_key: &[u8], of_user_id: &[u8]) -> Result<String, String> {
    let armored = key.armored_with(of_key, of_user_id);
    let verdict = check(b"document", &key.sign(b"document"), &[armored], ExpiredKeys::Accepted);
    verdict.map(|_| "signed".to_owned()).map_err(|reason| reason.replace(&key.id(), "ID"))
}

/// The first signature packet with another byte at a position of its body.
fn with_byte(mut packet: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    packet[2 + at] = byte;
    packet
}

#[test]
fn revocations_that_cannot_be_verified_count() {
    let (key, other) = (SigningKey::new(), SigningKey::new());
    let unverified = Err("the signing key ID has a revocation that Yuba cannot verify".to_owned());
    let own = key.sign_key(0x20, &key, &[]);
    assert_eq!(verdict_with(&key, &own, &[]), Err("the signing key ID has been revoked".to_owned()));
    // MD5, a version of signatures that is not supported, a critical statement that is not known, a designated revoker.
    for revocation in [
        with_byte(own.clone(), 3, 1),
        with_byte(own.clone(), 0, 5),
        vec![0xC2, 5, 3, 5, 0x20, 0, 0],
        key.sign_key(0x20, &key, &[2, 0x80 | 99, 0]),
        other.sign_key(0x20, &key, &[]),
    ] {
        assert_eq!(verdict_with(&key, &revocation, &[]), unverified);
        // Behind the subkey, too.
        assert_eq!(verdict_with(&key, &[], &revocation), unverified);
    }
    // A direct-key signature withdraws nothing.
    let direct = key.sign_key(0x1F, &key, &[2, 27, 3]);
    let signed = Ok("signed".to_owned());
    assert_eq!(verdict_with(&key, &direct, &[]), signed);
    assert_eq!(verdict_with(&key, &with_byte(direct, 3, 1), &[]), signed);
}

#[test]
fn withdrawals_of_a_user_id_count_if_they_name_the_key() {
    let (key, other) = (SigningKey::new(), SigningKey::new());
    let unverified = Err("the signing key ID has a revocation that Yuba cannot verify".to_owned());
    // The packets have the right issuer, but sign something else.
    let own = key.sign_key(0x30, &key, &[]);
    assert_eq!(verdict_with(&key, &[], &own), unverified);
    assert_eq!(verdict_with(&key, &[], &with_byte(own, 3, 1)), unverified);
    // Others withdraw only their own certification.
    let foreign = other.sign_key(0x30, &key, &[]);
    assert_eq!(verdict_with(&key, &[], &foreign), Ok("signed".to_owned()));
    assert_eq!(verdict_with(&key, &[], &with_byte(foreign, 3, 1)), Ok("signed".to_owned()));
}

#[test]
fn a_revocation_of_a_subkey_that_cannot_be_verified_counts() {
    let (key, signature) = fixture("subkey");
    let other = SigningKey::new();
    let verdict = |revocation: &[u8]| {
        // Behind the packet of each subkey.
        let key = binary(&key);
        let mut pieces = Vec::new();
        let mut rest = &key[..];
        while let Some(at) = rest.windows(3).position(|bytes| bytes == [0xB9, 0x01, 0x8D]) {
            let (subkey, after) = rest.split_at(at + 3 + 0x18D);
            pieces.extend([subkey, revocation]);
            rest = after;
        }
        assert!(!pieces.is_empty());
        pieces.push(rest);
        check(&document(), signature.as_bytes(), &[armored(&pieces.concat())], ExpiredKeys::Accepted)
    };
    assert!(verdict(&[]).is_ok());
    let revocation = other.sign_key(0x28, &other, &[]);
    for revocation in [revocation.clone(), with_byte(revocation, 3, 1)] {
        let reason = verdict(&revocation).expect_err("because the subkey can be revoked");
        assert!(reason.ends_with("has a revocation that Yuba cannot verify"), "{reason}");
    }
}

#[test]
fn a_valid_key_after_an_expired_one_counts() {
    // The expired key has signed, and a second key has signed the same document.
    let (expired, of_expired) = fixture("expired");
    let (valid, of_valid) = fixture("ed25519");
    let packets = |signature: &str| binary(signature);
    let both = [packets(&of_expired), packets(&of_valid)].concat();
    let id = verdict("ed25519", &document(), ExpiredKeys::Refused).expect("because the key is valid");
    for expired_keys in [ExpiredKeys::Refused, ExpiredKeys::Accepted] {
        let found = check(&document(), &both, &[expired.clone(), valid.clone()], expired_keys);
        assert_eq!(found.as_ref(), Ok(&id));
    }
    let reason = check(&document(), &both, &[expired], ExpiredKeys::Refused).expect_err("because the key has expired");
    assert!(reason.ends_with("has expired"), "{reason}");
}

#[test]
fn the_work_for_a_signature_is_limited() {
    let key = SigningKey::new();
    let many = key.sign(b"another document").repeat(17);
    let reason = check(b"document", &many, &[key.armored()], ExpiredKeys::Accepted);
    assert_eq!(reason, Err("the signature cannot be read: it contains more than 16 signatures".to_owned()));
    let statements = |count: usize| verdict_with(&key, &key.sign_key(0x1F, &key, &[2, 27, 3]).repeat(count), &[]);
    assert_eq!(statements(255), Ok("signed".to_owned()));
    assert_eq!(
        statements(256),
        Err("the owner of a signing key has made more than 256 signatures about it".to_owned())
    );
}

#[test]
fn signatures_of_other_keys_are_from_an_unknown_issuer() {
    let (key, _) = fixture("rsa2048");
    let (_, signature) = fixture("ed25519");
    let reason = check(&document(), signature.as_bytes(), &[key], ExpiredKeys::Accepted);
    assert_eq!(reason.as_ref().map_err(String::as_str), Err("authentication signature from unknown issuer"));
}

#[test]
fn keys_that_sign_only_keys_are_no_issuers_of_documents() {
    let key = SigningKey::for_certificates();
    let reason = check(b"document", &key.sign(b"document"), &[key.armored()], ExpiredKeys::Accepted);
    assert_eq!(reason.as_ref().map_err(String::as_str), Err("authentication signature from unknown issuer"));
}

#[test]
fn a_subkey_that_another_key_has_bound_proves_nothing() {
    // The subkey of one certificate behind the main key of another.
    let (stolen, signature) = fixture("subkey");
    let (own, _) = fixture("ed25519");
    let (own, stolen) = (binary(&own), binary(&stolen));
    let subkey = stolen.windows(3).position(|bytes| bytes == [0xB9, 0x01, 0x8D]).expect("because gpg writes it so");
    let key = armored(&[&own[..], &stolen[subkey..]].concat());
    let reason = check(&document(), signature.as_bytes(), &[key], ExpiredKeys::Accepted);
    assert_eq!(
        reason.as_ref().map_err(String::as_str),
        Err("a signing key is not bound to its owner: the main key has not signed it")
    );
}

#[test]
fn signatures_without_armor_and_keys_with_text_around_them_are_read() {
    let key = SigningKey::new();
    let armored = format!("Our key:\r\n\r\n{}\nBye.\n", key.armored().replace("\n\n", "\nVersion: 1\nComment: x\n\n"));
    let signature = key.sign(b"document");
    assert_eq!(check(b"document", &signature, &[armored], ExpiredKeys::Refused), Ok(key.id()));
}

#[test]
fn unreadable_keys_and_signatures_have_a_reason() {
    let key = SigningKey::new();
    let signature = key.sign(b"document");
    let mut shown = String::new();
    let private = key.armored().replace("PUBLIC", "PRIVATE");
    let cut = key.armored().lines().take(2).collect::<Vec<_>>().join("\n");
    for key in
        ["", "x", &private, &cut, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n?\n-----END PGP PUBLIC KEY BLOCK-----\n"]
    {
        let verdict = check(b"document", &signature, &[key.to_owned()], ExpiredKeys::Accepted);
        writeln!(shown, "{}", verdict.expect_err("because the key is unreadable"))
            .expect("because memory can be written");
    }
    for signature in [&b""[..], b"no packets", &signature[..20], &[0xC2, 3, 3, 5, 0], &[0xE6, 1, 0], &[0x8B, 1]] {
        let verdict = check(b"document", signature, &[key.armored()], ExpiredKeys::Accepted);
        writeln!(shown, "{}", verdict.expect_err("because it is unreadable")).expect("because memory can be written");
    }
    expect![[r#"
        a signing key of the registry cannot be read: it has no line "-----BEGIN PGP ..."
        a signing key of the registry cannot be read: it has no line "-----BEGIN PGP ..."
        a signing key of the registry cannot be read: it contains a PRIVATE KEY BLOCK instead of a PUBLIC KEY BLOCK
        a signing key of the registry cannot be read: it has no line "-----END PGP ..."
        a signing key of the registry cannot be read: its base64 is invalid: Invalid symbol 63, offset 0.
        the signature cannot be read: it is empty
        the signature cannot be read: its packets are malformed
        the signature cannot be read: a packet is shorter than it declares
        the signature cannot be read: signatures of version 3 are not supported
        the signature cannot be read: it contains a packet of type 38, which is not a signature
        the signature cannot be read: a packet has an unsupported indeterminate length
    "#]]
    .assert_eq(&shown);
}

proptest! {
    /// Every damage to a key or signature either changes nothing that is signed or is found.
    #[test]
    fn damaged_packets_never_sign_another_document(
        which in 0..4usize,
        of_key in any::<bool>(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let (key, signature) = fixture(["rsa2048", "dsa2048", "subkey", "v6"][which]);
        let (mut key, mut signature) = (binary(&key), binary(&signature));
        let damaged = if of_key { &mut key } else { &mut signature };
        let place = place.index(damaged.len());
        if cut {
            damaged.truncate(place);
        } else {
            damaged[place] = byte;
        }
        let verdict = check(b"another document", &signature, &[armored(&key)], ExpiredKeys::Accepted);
        prop_assert!(verdict.is_err());
    }

    #[test]
    fn arbitrary_packets_are_refused(key in prop::collection::vec(any::<u8>(), 0..200), mut signature in prop::collection::vec(any::<u8>(), 0..200)) {
        signature.insert(0, 0xC2);
        let _ = check(b"document", &signature, &[armored(&key)], ExpiredKeys::Accepted);
    }
}

fn binary(armored: &str) -> Vec<u8> {
    let base64: String = armored.lines().filter(|line| !line.starts_with(['-', '=']) && !line.contains(':')).collect();
    base64::engine::general_purpose::STANDARD.decode(base64).expect("because it is a fixture")
}

fn armored(bytes: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    format!("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{text}\n-----END PGP PUBLIC KEY BLOCK-----\n")
}
