//! Man pages in section 1: `yuba(1)` and a page for each command.

use super::*;

/// All pages.
pub(crate) fn pages() -> Vec<Page> {
    let mut pages = vec![Page { file: "yuba.1".to_owned(), text: main() }];
    pages.extend(COMMANDS.iter().map(|command| Page { file: format!("{}.1", title(command)), text: page(command) }));
    pages
}

/// The name of the page of a command.
fn title(command: &Command) -> String {
    format!("yuba-{}", command.name.replace(' ', "-"))
}

/// Title and section NAME. Pages have no date, so that every build writes the same bytes.
fn head(name: &str, synopsis: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (title, name) = (escaped(&name.to_uppercase()), escaped(name));
    format!(
        ".TH \"{title}\" \"1\" \"\" \"Yuba {version}\" \"Yuba Manual\"\n.SH NAME\n{name} \\- {}\n",
        escaped(synopsis)
    )
}

fn main() -> String {
    let mut text = head("yuba", "infrastructure as code in the OpenTofu language");
    text.push_str(".SH SYNOPSIS\n\\fByuba\\fR [global options] <subcommand> [args]\n.SH DESCRIPTION\n");
    text.push_str(&paragraphs(
        "Yuba plans and applies infrastructure that is described in the OpenTofu language. It works on the same \
         configurations, states and providers as OpenTofu.",
    ));
    text.push_str(".SH COMMANDS\n");
    for command in COMMANDS {
        item(&mut text, &format!("{}(1)", title(command)), &format!("{}.", command.synopsis));
    }
    text.push_str(".SH GLOBAL OPTIONS\n");
    for (option, help) in help::GLOBAL {
        item(&mut text, option, help);
    }
    text.push_str(".SH OPTIONS OF EVERY COMMAND\n");
    flags(&mut text, COMMON);
    text.push_str(".SH ENVIRONMENT\n");
    for (name, help) in ENVIRONMENT {
        item(&mut text, name, help);
    }
    text.push_str(".SH EXIT STATUS\n");
    text.push_str(&paragraphs("0 on success and 1 after an error. Pages of commands list other codes."));
    text
}

fn page(command: &Command) -> String {
    let mut text = head(&title(command), &first_lower(command.synopsis));
    let _ = write!(text, ".SH SYNOPSIS\n{}\n.SH DESCRIPTION\n", escaped(&usage(command)));
    text.push_str(&paragraphs(command.about));
    let subcommands = help::subcommands(command);
    if !subcommands.is_empty() {
        text.push_str(".SH SUBCOMMANDS\n");
        for (_, subcommand) in &subcommands {
            item(&mut text, &format!("{}(1)", title(subcommand)), &format!("{}.", subcommand.synopsis));
        }
    }
    if let Run::Function(_) = command.run {
        text.push_str(".SH OPTIONS\n");
        flags(&mut text, command.flags);
        flags(&mut text, COMMON);
    }
    let group = command.name.split_once(' ').map_or(String::new(), |(group, _)| format!(", \\fByuba\\-{group}\\fR(1)"));
    let _ = writeln!(text, ".SH SEE ALSO\n\\fByuba\\fR(1){group}");
    text
}

fn flags(text: &mut String, flags: &'static [Flag]) {
    for (spelling, flag) in options(flags) {
        item(text, &spelling, flag.help);
    }
}

fn item(text: &mut String, term: &str, help: &str) {
    let _ = writeln!(text, ".TP\n\\fB{}\\fR\n{}", escaped(term), escaped(help));
}

fn paragraphs(text: &str) -> String {
    let mut pages = String::new();
    for (index, paragraph) in text.split("\n\n").enumerate() {
        let _ = writeln!(pages, "{}{}", if index > 0 { ".PP\n" } else { "" }, escaped(paragraph));
    }
    pages
}

/// A synopsis as the continuation of a line, unless it starts with an abbreviation.
fn first_lower(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), text.chars().nth(1)) {
        (Some(first), Some(second)) if second.is_lowercase() => format!("{}{}", first.to_lowercase(), chars.as_str()),
        _ => text.to_owned(),
    }
}

/// Text without the meaning that roff gives to its characters. Dashes stay dashes, so that flags can be copied.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines =
        text.lines().map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}
