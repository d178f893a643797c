//! OpenTofu and Yuba take turns with encrypted states and plans whose keys or ciphers come from elsewhere.

use std::process::Stdio;

use yuba_testkit::Sandbox;
use yuba_testkit::servers::{moto, vault_transit};

const RESOURCES: &str = r#"
variable "v" {
  default = "1"
}
resource "terraform_data" "x" {
  input = "marker-${var.v}"
}
"#;

/// A cipher that is good for tests only: it adds the bytes of the key.
const CIPHER: &str = r#"#!/usr/bin/env python3
import base64, json, sys
print(json.dumps({"magic": "OpenTofu-External-Encryption-Method", "version": 1}), flush=True)
request = json.load(sys.stdin)
key = base64.b64decode(request.get("key") or "eA==")
sign = 1 if sys.argv[1] == "encrypt" else -1
payload = base64.b64decode(request["payload"])
done = bytes((byte + sign * key[at % len(key)]) % 256 for at, byte in enumerate(payload))
json.dump({"payload": base64.b64encode(done).decode()}, sys.stdout)
"#;

fn run(sandbox: &Sandbox, program: &str, args: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = match program {
        "tofu" => sandbox.command_of("tofu", args),
        _ => sandbox.command(args),
    };
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    let output = command.output().expect("because both can be started");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Both apply in turns. The state never contains the value of an attribute in clear text.
fn take_turns(encryption: &str, files: &str, variables: &[(&str, &str)]) -> Sandbox {
    let fixture = format!("//- main.tf\nterraform {{\n  encryption {{\n{encryption}\n  }}\n}}\n{RESOURCES}\n{files}");
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), &fixture);
    let done = |program: &str, args: &[&str]| {
        let (is_success, text) = run(&sandbox, program, args, variables);
        assert!(is_success, "{program} {args:?}\n{text}");
    };
    done("tofu", &["init"]);
    for (first, second, v) in [("yuba", "tofu", 1), ("tofu", "yuba", 3)] {
        let [one, two] = [v, v + 1].map(|v| format!("-var=v={v}"));
        done(first, &["apply", "-auto-approve", &one]);
        let state = sandbox.read("terraform.tfstate");
        assert!(state.contains("\"encrypted_data\"") && !state.contains("marker-"), "{state}");
        done(second, &["plan", "-detailed-exitcode", &one]);
        done(second, &["apply", "-auto-approve", &two]);
        done(first, &["plan", "-detailed-exitcode", &two]);
        done(first, &["plan", "-out=saved", "-var=v=x"]);
        let plan = std::fs::read(sandbox.dir().join("saved")).expect("because it was saved");
        assert!(plan.starts_with(b"{\"") && !plan.windows(7).any(|part| part == b"marker-"));
        done(first, &["apply", "saved"]);
    }
    sandbox
}

const TARGETS: &str = "state {\n method = method.aes_gcm.m\n enforced = true\n}\nplan {\n method = method.aes_gcm.m\n}";

pub(crate) fn with_openbao() {
    let vault = vault_transit().expect("because it is installed");
    vault.create_key("tofu");
    let method = format!("method \"aes_gcm\" \"m\" {{\n keys = key_provider.openbao.k\n}}\n{TARGETS}");
    let (url, token) = (vault.url(), vault.token());
    let block = format!(
        "key_provider \"openbao\" \"k\" {{\n address = \"{url}\"\n token = \"{token}\"\n key_name = \"tofu\"\n key_length = 16\n \
         transit_engine_path = \"/transit\"\n}}\n{method}"
    );
    let sandbox = take_turns(&block, "", &[]);
    let state: serde_json::Value =
        serde_json::from_str(&sandbox.read("terraform.tfstate")).expect("because it is JSON");
    assert!(state["meta"]["key_provider.openbao.k"].is_string(), "{state}");
    // The variables of OpenBao, and those of Vault where OpenBao defines no variable.
    let short = format!("key_provider \"openbao\" \"k\" {{\n key_name = \"tofu\"\n}}\n{method}");
    take_turns(&short, "", &[("BAO_ADDR", &url), ("BAO_TOKEN", token)]);
    let sandbox = take_turns(&short, "", &[("VAULT_ADDR", &url), ("VAULT_TOKEN", token)]);
    // An empty BAO_TOKEN hides VAULT_TOKEN. The message has no token in it.
    let wrong = [("VAULT_ADDR", url.as_str()), ("VAULT_TOKEN", token), ("BAO_TOKEN", "")];
    for program in ["yuba", "tofu"] {
        let (is_success, text) = run(&sandbox, program, &["plan", "-no-color"], &wrong);
        assert!(!is_success && !text.contains(token) && text.contains("403"), "{program}: {text}");
    }
    let (_, text) = run(&sandbox, "yuba", &["plan", "-no-color"], &[("BAO_ADDR", &url), ("BAO_TOKEN", "wrong")]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("\"update\" on \"transit/") && !text.contains("wrong"), "{text}");
}

pub(crate) fn with_aws_kms() {
    let server = moto().expect("because it is installed");
    let (key, url) = (server.create_kms_key(), server.url());
    let block = format!(
        "key_provider \"aws_kms\" \"k\" {{\n kms_key_id = \"{key}\"\n key_spec = \"AES_256\"\n region = \"us-east-1\"\n access_key = \
         \"AKIATEST\"\n secret_key = \"secret\"\n endpoints {{\n  sts = \"{url}\"\n }}\n}}\nmethod \"aes_gcm\" \"m\" {{\n keys = \
         key_provider.aws_kms.k\n}}\n{TARGETS}"
    );
    let sandbox = take_turns(&block, "", &[("AWS_ENDPOINT_URL_KMS", &url)]);
    let state: serde_json::Value =
        serde_json::from_str(&sandbox.read("terraform.tfstate")).expect("because it is JSON");
    assert!(state["meta"]["key_provider.aws_kms.k"].is_string(), "{state}");
}

pub(crate) fn with_an_external_method() {
    let commands = "encrypt_command = [\"python3\", \"cipher.py\", \"encrypt\"]\n decrypt_command = [\"python3\", \"cipher.py\", \"decrypt\"]";
    let targets = TARGETS.replace("aes_gcm", "external");
    let files = format!("//- cipher.py\n{CIPHER}");
    take_turns(&format!("method \"external\" \"m\" {{\n {commands}\n}}\n{targets}"), &files, &[]);
    let key = "key_provider \"pbkdf2\" \"k\" {\n passphrase = \"a passphrase that is long enough\"\n}";
    let keys = "keys = key_provider.pbkdf2.k";
    let sandbox =
        take_turns(&format!("{key}\nmethod \"external\" \"m\" {{\n {keys}\n {commands}\n}}\n{targets}"), &files, &[]);
    // A cipher that fails: nothing is written, and both say what it said.
    let before = sandbox.read("terraform.tfstate");
    sandbox.write("cipher.py", CIPHER.replace("request =", "sys.exit('no entry')\nrequest ="));
    for program in ["yuba", "tofu"] {
        let (is_success, text) = run(&sandbox, program, &["apply", "-auto-approve", "-no-color", "-var=v=9"], &[]);
        assert!(!is_success && text.contains("no entry"), "{program}: {text}");
    }
    assert_eq!(sandbox.read("terraform.tfstate"), before);
}
