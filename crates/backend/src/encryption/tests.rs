//! Tests of encryption: round trips, wrong keys, damaged data, other programs, migration.

use super::*;

fn passphrase(text: &str, meta_key: &str) -> KeyProvider {
    let source = KeySource::Pbkdf2 {
        passphrase: Passphrase::Text(text.to_owned()),
        key_length: 32,
        iterations: 200_000,
        hash: Pbkdf2Hash::Sha256,
        salt_length: 32,
    };
    KeyProvider { meta_key: meta_key.to_owned(), source }
}

fn aes(at: usize) -> EncryptionMethod {
    EncryptionMethod::AesGcm { keys: Keys::Of(at), aad: Vec::new() }
}

fn sealing(providers: Vec<KeyProvider>, methods: Vec<EncryptionMethod>) -> Sealing {
    Sealing::new("state", providers, methods).expect("because the configuration is right")
}

const STATE: &[u8] = br#"{"version":4,"serial":3,"lineage":"l","secret":"hush"}"#;

fn unseal(sealing: &Sealing, bytes: &[u8]) -> Result<(Vec<u8>, bool), String> {
    let unsealed = sealing.unseal(bytes, |bytes| bytes == STATE).map_err(|problem| problem.summary.to_string())?;
    Ok((unsealed.content, unsealed.migrates))
}

#[test]
fn sealed_data_needs_the_same_passphrase() {
    let ours = || sealing(vec![passphrase("correct horse battery", "a")], vec![aes(0)]);
    let bytes = ours().seal(STATE, Some((3, "l"))).expect("because there is a key");
    let text = String::from_utf8(bytes.clone()).expect("because it is JSON");
    assert!(text.starts_with(r#"{"serial":3,"lineage":"l","meta":{"a":""#), "{text}");
    assert!(text.ends_with(r#"","encryption_version":"v0"}"#) && !text.contains("hush"), "{text}");
    assert_eq!(unseal(&ours(), &bytes), Ok((STATE.to_vec(), false)));
    let theirs = sealing(vec![passphrase("another passphrase!", "a")], vec![aes(0)]);
    assert_eq!(unseal(&theirs, &bytes), Err("Decryption failed for all provided methods".to_owned()));
    let both = sealing(
        vec![passphrase("another passphrase!", "b"), passphrase("correct horse battery", "a")],
        vec![aes(0), aes(1)],
    );
    assert_eq!(unseal(&both, &bytes), Ok((STATE.to_vec(), true)), "a fallback reads it, and it is written again");
    let forged = text.replace(r#""serial":3"#, r#""serial":4"#);
    assert_eq!(unseal(&ours(), forged.as_bytes()), Err("Unable to decrypt".to_owned()));
    for length in [0, 10, text.len() / 2] {
        let cut = &text.as_bytes()[..length];
        assert!(unseal(&ours(), cut).is_err(), "cut at {length}");
    }
}

#[test]
fn clear_text_is_read_only_where_that_is_allowed() {
    let strict = sealing(vec![passphrase("correct horse battery", "a")], vec![aes(0)]);
    let refused = "Encountered unencrypted payload without unencrypted method configured";
    assert_eq!(unseal(&strict, STATE), Err(refused.to_owned()));
    let moving = sealing(vec![passphrase("correct horse battery", "a")], vec![aes(0), EncryptionMethod::Unencrypted]);
    assert_eq!(unseal(&moving, STATE), Ok((STATE.to_vec(), true)));
    let back = sealing(vec![passphrase("correct horse battery", "a")], vec![EncryptionMethod::Unencrypted, aes(0)]);
    assert_eq!(back.seal(STATE, None).expect("because nothing is encrypted"), STATE);
}

#[test]
fn errors_in_key_providers_are_found_before_any_operation() {
    let found = |provider: KeyProvider| {
        Sealing::new("state", vec![provider], vec![aes(0)]).map_err(|problem| problem.detail.to_string()).err()
    };
    let short = "Failed to build a key with a: the passphrase is too short: it needs at least 16 characters.";
    assert_eq!(found(passphrase("short", "a")).as_deref(), Some(short));
    let external = |command: &[&str]| {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        KeyProvider { meta_key: "x".to_owned(), source: KeySource::External { command } }
    };
    assert_eq!(found(external(&[])).as_deref(), Some("Failed to build a key with x: it has no command."));
    assert!(found(external(&["/no/such/program"])).is_some_and(|reason| reason.contains("cannot be started")));
}

#[cfg(unix)]
#[test]
fn another_program_can_have_the_keys() {
    let key = BASE64.encode([7_u8; 32]);
    let script = format!(
        "echo '{{\"magic\":\"OpenTofu-External-Key-Provider\",\"version\":1}}'; read -r known || true; \
         if [ \"$known\" = null ]; then d=''; else d=',\"decryption_key\":\"{key}\"'; fi; \
         echo \"{{\\\"keys\\\":{{\\\"encryption_key\\\":\\\"{key}\\\"$d}},\\\"meta\\\":{{\\\"external_data\\\":{{\\\"a\\\":1}}}}}}\""
    );
    let external = || KeyProvider {
        meta_key: "key_provider.external.x".to_owned(),
        source: KeySource::External { command: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.clone()] },
    };
    let bytes = sealing(vec![external()], vec![aes(0)]).seal(STATE, None).expect("because there is a key");
    let text = String::from_utf8(bytes.clone()).expect("because it is JSON");
    let meta = BASE64.encode(r#"{"external_data":{"a":1}}"#);
    assert!(text.contains(&format!("\"key_provider.external.x\":\"{meta}\"")), "{text}");
    assert_eq!(unseal(&sealing(vec![external()], vec![aes(0)]), &bytes), Ok((STATE.to_vec(), false)));
    let chained = || {
        let mut second = passphrase("", "b");
        if let KeySource::Pbkdf2 { passphrase, .. } = &mut second.source {
            *passphrase = Passphrase::Chain(0);
        }
        sealing(vec![external(), second], vec![aes(1)])
    };
    let bytes = chained().seal(STATE, None).expect("because there is a key");
    assert_eq!(unseal(&chained(), &bytes), Ok((STATE.to_vec(), false)));
    let lies = KeySource::External { command: vec!["/bin/echo".to_owned(), "{}".to_owned()] };
    let lies = Sealing::new("state", vec![KeyProvider { meta_key: "l".to_owned(), source: lies }], vec![aes(0)]);
    assert!(lies.is_err_and(|problem| {
        problem.detail.contains("the magic \"OpenTofu-External-Key-Provider\" and the version 1")
    }));
}

/// A script as the method `external`.
#[cfg(unix)]
fn scripted(script: &str) -> Sealing {
    let command = vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let commands = Commands { encrypt: command.clone(), decrypt: command };
    sealing(Vec::new(), vec![EncryptionMethod::External { keys: None, commands }])
}

#[cfg(unix)]
#[test]
fn another_program_can_be_the_cipher() {
    let header = r#"echo '{"magic":"OpenTofu-External-Encryption-Method","version":1}'; "#;
    // The program sends back the payload that it gets. It is larger than any pipe.
    let echo = scripted(&format!(r#"{header} sed 's/.*"payload"/{{"payload"/'"#));
    let large = vec![b'x'; 3 << 20];
    let sealed = echo.seal(&large, None).expect("because the program works");
    assert_eq!(unseal(&echo, &sealed), Ok((large, false)));
    for (script, text) in [
        ("exit 3".to_owned(), "exit status: 3"),
        (format!("{header} cat > /dev/null; echo trouble >&2; exit 1"), "trouble"),
        ("echo '{\"magic\":\"x\",\"version\":1}'".to_owned(), "magic"),
        (header.replace(":1}", ":2}"), "version 1"),
        (format!("{header} echo nonsense"), "not JSON"),
        (format!("{header} echo '{{\"payload\":\"eA==\",\"more\":1}}'"), "only member"),
        (format!("{header} echo '{{\"payload\":\"\"}}'"), "returned nothing"),
        (format!("{header} echo null"), "only member"),
    ] {
        let problem = scripted(&script).seal(STATE, None).expect_err("because the program does not work");
        assert!(problem.detail.contains(text), "{script}: {}", problem.detail);
    }
    let empty = Commands { encrypt: vec!["x".to_owned()], decrypt: Vec::new() };
    let refused = Sealing::new("state", Vec::new(), vec![EncryptionMethod::External { keys: None, commands: empty }]);
    assert!(refused.is_err_and(|problem| problem.detail.contains("decrypt_command")));
}
