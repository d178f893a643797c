//! Lines of progress for people, beside those of single events.

use yuba_addrs::AbsResourceInstance;
use yuba_plan::{Action, Event, Phase};
use yuba_state::DeposedKey;

use crate::paint::{Paint, Style};

/// Longest id in a line about something that takes long, in characters.
const MAX_ID: usize = 80;

/// The line about something that began `seconds` ago and is not done yet.
pub fn still(started: &Event, seconds: u64, style: Style) -> Option<String> {
    let Event::Started { addr, phase, id, .. } = started else { return None };
    let still = verbs(*phase)?.still?;
    let id = id.as_ref().map(|(key, value)| format!("{key}={}, ", shortened(value))).unwrap_or_default();
    let text = format!("{addr}: {still} [{id}{} elapsed]", duration(seconds));
    Some(Paint::new(style).bold(&text).into_owned())
}

/// Operations in progress, for a terminal where they are redrawn.
pub(crate) fn under_way(started: &Event, seconds: u64) -> Option<String> {
    match started {
        Event::Started { addr, deposed, phase, .. } => {
            let verb = verbs(*phase)?.start;
            Some(format!("{}: {verb} [{}]", shown(addr, deposed.as_ref()), duration(seconds)))
        }
        Event::ProvisionStarted { addr, provisioner } => {
            Some(format!("{addr}: Provisioning with '{provisioner}'... [{}]", duration(seconds)))
        }
        _ => None,
    }
}

/// The progress of all operations. `total` is `None` while the number of operations is unknown. The times are the seconds since the
/// start, and those that are probably left.
pub(crate) fn counter(done: usize, total: Option<usize>, running: usize, times: (u64, Option<u64>)) -> String {
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    format!("{done}{of} done, {running} running [{}]", elapsed(times))
}

/// The progress of refreshing the state.
pub(crate) fn refresh_counter(done: usize, total: Option<usize>, running: usize, times: (u64, Option<u64>)) -> String {
    let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
    format!("Refreshing state: {done}{of} objects, {running} running [{}]", elapsed(times))
}

/// The line that stays where refreshed objects were counted instead of listed.
pub fn refreshed(count: usize, seconds: u64, style: Style) -> String {
    let objects = if count == 1 { "object" } else { "objects" };
    Paint::new(style).bold(&format!("Refreshed state: {count} {objects} in {}", duration(seconds))).into_owned()
}

/// The progress of tests: the numbers of runs and of files that are over, the time, and the names of the other files.
pub fn tests(runs: (usize, usize), files: usize, left: &[String], since: std::time::Duration) -> String {
    let (done, total) = runs;
    let seconds = since.as_secs();
    // The first runs say little about the remaining runs.
    let rest = || seconds.checked_mul(total.saturating_sub(done) as u64)?.checked_div(done as u64);
    let rest = rest().filter(|rest| *rest > 1 && done >= 3);
    let of_files = format!("{} of {files} files", files - left.len());
    let names = left.join(", ");
    format!("{done} of {total} runs done, {of_files} [{}], not done: {names}", elapsed((seconds, rest)))
}

/// Work without any numbers: what it is, and the time since it began.
pub fn waiting(what: &str, since: std::time::Duration) -> String {
    format!("{what} [{}]", elapsed((since.as_secs(), None)))
}

/// The progress of a download: received bytes and all bytes, and the time since it began.
pub fn download(name: &str, (received, total): (u64, Option<u64>), since: std::time::Duration) -> String {
    let megabytes = received >> 20;
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{name}: {megabytes} MB [{}]", elapsed((since.as_secs(), None)));
    };
    let share = received.saturating_mul(100) / total;
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let rest = total.saturating_sub(received).saturating_mul(millis) / received.max(1) / 1000;
    // The first seconds say little about the speed.
    let rest = Some(rest).filter(|rest| *rest > 1 && millis > 2000);
    format!("{name}: {megabytes} of {} MB ({share}%) [{}]", total >> 20, elapsed((since.as_secs(), rest)))
}

fn elapsed((elapsed, rest): (u64, Option<u64>)) -> String {
    let rest = rest.map(|rest| format!(", about {} left", duration(rest))).unwrap_or_default();
    format!("{} elapsed{rest}", duration(elapsed))
}

/// `2 operations`
pub(crate) fn operations(count: usize) -> String {
    format!("{count} {}", if count == 1 { "operation" } else { "operations" })
}

/// `2 further operations`
pub(crate) fn further_operations(count: usize) -> String {
    format!("{count} further {}", if count == 1 { "operation" } else { "operations" })
}

pub(crate) struct Verbs {
    pub(crate) start: &'static str,
    pub(crate) still: Option<&'static str>,
    pub(crate) end: Option<&'static str>,
}

pub(crate) fn verbs(phase: Phase) -> Option<Verbs> {
    let all = |start, still, end| Some(Verbs { start, still: Some(still), end: Some(end) });
    match phase {
        Phase::Refresh => Some(Verbs { start: "Refreshing state...", still: None, end: None }),
        Phase::Read | Phase::Apply(Action::Read) => all("Reading...", "Still reading...", "Read complete"),
        Phase::PrepareImport => Some(Verbs { start: "Preparing import...", still: None, end: None }),
        Phase::Import => Some(Verbs { start: "Importing...", still: None, end: Some("Import complete") }),
        Phase::Apply(Action::Create) => all("Creating...", "Still creating...", "Creation complete"),
        Phase::Apply(Action::Update) => all("Modifying...", "Still modifying...", "Modifications complete"),
        Phase::Apply(Action::Delete) => all("Destroying...", "Still destroying...", "Destruction complete"),
        Phase::Apply(_) => None,
        Phase::Open => all("Opening...", "Still opening...", "Open complete"),
        Phase::Renew => all("Renewing...", "Still renewing...", "Renew complete"),
        Phase::Close => all("Closing...", "Still closing...", "Close complete"),
    }
}

pub(crate) fn shown(addr: &AbsResourceInstance, deposed: Option<&DeposedKey>) -> String {
    match deposed {
        Some(key) => format!("{addr} (deposed object {key})"),
        None => addr.to_string(),
    }
}

pub(crate) fn id_suffix<K: std::fmt::Display, V: std::fmt::Display + AsRef<str>>(id: Option<&(K, V)>) -> String {
    match id {
        Some((key, value)) if !value.as_ref().is_empty() => format!(" [{key}={value}]"),
        _ => String::new(),
    }
}

/// Hours, minutes and seconds, without leading zeros.
pub(crate) fn duration(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// A long id with dots in its middle.
fn shortened(id: &str) -> String {
    let count = id.chars().count();
    if count <= MAX_ID {
        return id.to_owned();
    }
    let left: String = id.chars().take(MAX_ID / 2 - 1).collect();
    let right: String = id.chars().skip(count - MAX_ID / 2 + 2).collect();
    format!("{left}...{right}")
}

/// Number of completed actions, for the summary after applying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummaryCounts {
    /// Objects that were imported.
    pub imported: usize,
    /// Objects that were created.
    pub added: usize,
    /// Objects that were changed in place.
    pub changed: usize,
    /// Objects that were destroyed.
    pub destroyed: usize,
    /// Objects that are no longer managed.
    pub forgotten: usize,
}

impl SummaryCounts {
    /// SummaryCounts what is done.
    pub fn add(&mut self, event: &Event) {
        let Event::Finished { phase, ok: true, .. } = event else { return };
        match phase {
            Phase::Import => self.imported += 1,
            Phase::Apply(Action::Create) => self.added += 1,
            Phase::Apply(Action::Update) => self.changed += 1,
            Phase::Apply(Action::Delete) => self.destroyed += 1,
            Phase::Apply(Action::Forget) => self.forgotten += 1,
            _ => {}
        }
    }
}

/// Returns the summary after applying, with an empty line before it and a line end.
pub fn applied(counts: &SummaryCounts, style: Style) -> String {
    let SummaryCounts { imported, added, changed, destroyed, forgotten } = *counts;
    let imported = if imported > 0 { format!("{imported} imported, ") } else { String::new() };
    let forgotten = if forgotten > 0 { format!(", {forgotten} forgotten") } else { String::new() };
    let text = format!(
        "Apply complete! Resources: {imported}{added} added, {changed} changed, {destroyed} destroyed{forgotten}."
    );
    summary(&text, style)
}

/// Returns the summary after destroying everything, with an empty line before it and a line end.
pub fn destroyed(counts: &SummaryCounts, style: Style) -> String {
    summary(&format!("Destroy complete! Resources: {} destroyed.", counts.destroyed), style)
}

fn summary(text: &str, style: Style) -> String {
    // Control sequences stand on the lines around it: tools find the line by its beginning and end, as OpenTofu's.
    Paint::new(style).bold_in(crate::paint::GREEN, &format!("\n{text}\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_addrs::AbsResourceInstance;
    use yuba_syntax::FileId;

    use super::*;
    use crate::events::line;

    #[test]
    fn lines() {
        let addr = AbsResourceInstance::parse_text(FileId(0), "terraform_data.a").expect("because it is well-formed");
        let started = |phase, id: &str| Event::Started {
            addr: addr.clone(),
            deposed: None,
            phase,
            id: (!id.is_empty()).then(|| ("id".into(), id.into())),
        };
        let finished = |phase, ok| Event::Finished {
            addr: addr.clone(),
            deposed: DeposedKey::parse("deadbeef"),
            phase,
            id: Some(("id".into(), "x".into())),
            ok,
        };
        let text = Event::ProvisionOutput {
            addr: addr.clone(),
            provisioner: "local-exec".into(),
            text: "one\r\n\ntwo  ".into(),
        };
        let events = [
            started(Phase::Refresh, "x"),
            started(Phase::Apply(Action::Create), ""),
            finished(Phase::Apply(Action::Create), true),
            finished(Phase::Apply(Action::Delete), false),
            started(Phase::PrepareImport, "x"),
            finished(Phase::Import, true),
            started(Phase::Apply(Action::Forget), "x"),
            Event::ProvisionStarted { addr: addr.clone(), provisioner: "local-exec".into() },
            text,
        ];
        let mut counts = SummaryCounts::default();
        events.iter().for_each(|event| counts.add(event));
        let lines: Vec<String> = events.iter().filter_map(|event| line(event, 61, Style::Plain)).collect();
        expect![[r#"
            terraform_data.a: Refreshing state... [id=x]
            terraform_data.a: Creating...
            terraform_data.a: Creation complete after 1m1s [id=x]
            terraform_data.a: Preparing import... [id=x]
            terraform_data.a: Import complete [id=x]
            terraform_data.a: Provisioning with 'local-exec'...
            terraform_data.a (local-exec): one
            terraform_data.a (local-exec): two"#]]
        .assert_eq(&lines.join("\n"));
        expect![[r#"

            Apply complete! Resources: 1 imported, 1 added, 0 changed, 0 destroyed.
        "#]]
        .assert_eq(&applied(&counts, Style::Plain));
        let long = started(Phase::Apply(Action::Delete), &"0123456789".repeat(9));
        expect!["terraform_data.a: Still destroying... [id=012345678901234567890123456789012345678...23456789012345678901234567890123456789, 1h0m0s elapsed]"].assert_eq(&still(&long, 3600, Style::Plain).unwrap_or_default());
    }
}
