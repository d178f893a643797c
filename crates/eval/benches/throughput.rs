//! Bytes read and formatted, and expressions evaluated, per second.

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use yuba_eval::{CallContext, FunctionTable, MemoryWorld, NoVariables, evaluate};
use yuba_syntax::lexer::{LexMode, lex};
use yuba_syntax::{FileId, format, parser};

fn main() {
    divan::main();
}

/// A file of `n` resources, in the style of real modules.
fn configuration(n: usize) -> Vec<u8> {
    let resource = |i: usize| {
        format!(
            "resource \"aws_instance\" \"web_{i}\" {{\n  # the {i}th\n  count = var.enabled ? {i} : 0\n\n  ami           = data.aws_ami.ubuntu.id\n  \
             instance_type = \"t3.micro\"\n  tags = merge(local.tags, {{\n    Name = \"web-${{count.index}}\"\n    \
             Ports = [for p in [80, 443] : \"${{p}}/tcp\" if p != {i}]\n  }})\n}}\n\n"
        )
    };
    (0..n).map(resource).collect::<String>().into_bytes()
}

#[divan::bench]
fn lex_configuration(bencher: Bencher<'_, '_>) {
    let text = configuration(1000);
    bencher.counter(BytesCount::of_slice(&text)).bench(|| lex(&text, LexMode::Config));
}

#[divan::bench]
fn parse_configuration(bencher: Bencher<'_, '_>) {
    let text = configuration(1000);
    bencher.counter(BytesCount::of_slice(&text)).bench(|| parser::parse_config(FileId(0), &text));
}

#[divan::bench]
fn format_configuration(bencher: Bencher<'_, '_>) {
    let text = configuration(1000);
    bencher.counter(BytesCount::of_slice(&text)).bench(|| format::format(&text));
}

const EXPRESSIONS: [&str; 4] = [
    "1 + 2 * 3 == 7 ? \"yes\" : \"no\"",
    "\"web-${1 + 2}-${upper(\"blue\")}\"",
    "merge({ a = 1, b = [1, 2, 3] }, { c = \"x\" }).b[1]",
    "[for x in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] : x * x if x % 2 == 0]",
];

#[divan::bench(args = EXPRESSIONS)]
fn evaluate_expression(bencher: Bencher<'_, '_>, text: &str) {
    let (expr, diagnostics) = parser::parse_expression(FileId(0), text.as_bytes());
    assert!(diagnostics.is_empty());
    let world = MemoryWorld::new();
    let context = || CallContext {
        world: &world,
        base_dir: ".",
        plan_time: None,
        pure_only: false,
        functions: FunctionTable::module(),
        others: None,
        template_depth: 0,
        sources: None,
        symbols: None,
    };
    bencher.counter(ItemsCount::new(1usize)).bench(|| evaluate(&expr, &NoVariables, context()));
}
