//! Sensitive values are in no page.

use yuba_testkit::servers::{Browser, chromium};

use super::{page, quiet, sandbox, yes};

/// The text that a page holds: the file, and the report in it.
fn content(browser: &Browser) -> String {
    let script = "const block = document.getElementById('report'); \
                  if (block.dataset.form !== 'deflate') return block.textContent; \
                  const bytes = Uint8Array.from(atob(block.textContent), letter => letter.charCodeAt(0)); \
                  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text()";
    browser.run_async(script).as_str().expect("it is text").to_owned()
}

/// Random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// A secret of letters that nothing else has, so that single letters are found.
    fn secret(&mut self, length: u64) -> String {
        (0..length).filter_map(|_| char::from_u32('а' as u32 + self.below(32) as u32)).collect()
    }
}

/// Whether a text has a letter of a secret.
fn has_secret(text: &str) -> bool {
    text.contains("\\u04") || text.chars().any(|c| ('а'..='я').contains(&c))
}

/// Secrets of 1 to 40 letters from a seed at many positions: variables, outputs, parts of objects, keys of maps, elements of sets, lines,
/// JSON.
pub(super) fn no_secret_is_in_the_file() {
    let Some(browser) = chromium() else { return };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for filler in [0, 0, 0, 400] {
        // Short ones in each round: they are found by other rules than long ones.
        let mut secrets = (0_u64..).map(|at| random_secret(&mut random, at));
        let mut next = || secrets.next().expect("there is always another one");
        let sandbox = sandbox(&format!(
            r#"
//- main.tf
variable "v" {{
  default   = "{a}"
  sensitive = true
}}
variable "step" {{ default = 1 }}
locals {{
  whole = sensitive({{ a = "{b}", b = ["{c}"] }})
  part  = {{ open = "plain", closed = sensitive("{d}") }}
  key   = sensitive("{e}")
}}
resource "terraform_data" "one" {{ input = var.v }}
resource "terraform_data" "two" {{ input = local.whole }}
resource "terraform_data" "three" {{ input = local.part }}
resource "terraform_data" "four" {{ input = {{ (nonsensitive("open")) = "x-${{local.key}}\nline" }} }}
resource "terraform_data" "five" {{ input = jsonencode({{ k = sensitive("{f}") }}) }}
resource "terraform_data" "six" {{ input = toset([sensitive("{g}"), "open"]) }}
resource "terraform_data" "seven" {{ triggers_replace = "${{var.v}}-${{var.step}}" }}
resource "terraform_data" "filler" {{ count = {filler} }}
check "told" {{
  assert {{
    condition     = var.v == "other"
    error_message = "The value is ${{var.v}}."
  }}
}}
output "o" {{
  value     = "{h}"
  sensitive = true
}}
"#,
            a = next(),
            b = next(),
            c = next(),
            d = next(),
            e = next(),
            f = next(),
            g = next(),
            h = next(),
        ));
        let value = format!("-var=v={}", next());
        yes(&sandbox.run(&["plan", "-out=create.tfplan"]));
        yes(&sandbox.run(&["apply", "create.tfplan"]));
        yes(&sandbox.run(&["plan", "-var=step=2", &value, "-out=update.tfplan"]));
        yes(&sandbox.run(&["plan", "-destroy", "-out=destroy.tfplan"]));
        for shown in [&["create.tfplan"][..], &["update.tfplan"], &["destroy.tfplan"], &[]] {
            page(&sandbox, &browser, shown);
            let content = content(&browser);
            assert!(content.contains("terraform_data.three"), "the report has its objects");
            assert!(!has_secret(&content), "{shown:?}: {content}");
            assert!(!has_secret(&sandbox.read("report.html")), "{shown:?}");
        }
    }
    quiet(&browser);
}

/// A secret: every other one has at most five letters.
fn random_secret(random: &mut Random, at: u64) -> String {
    let longest = if at.is_multiple_of(2) { 5 } else { 40 };
    let length = 1 + random.below(longest);
    random.secret(length)
}
