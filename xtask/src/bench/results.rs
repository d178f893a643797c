//! Results of a run: what was measured, on which machine, by which tools; and their form in JSON.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::measure::Sample;

/// Name of this project's tool in results.
pub(super) const OURS: &str = "yuba";
/// Name of the other tool in results.
pub(super) const PEER: &str = "opentofu";

/// Number of the format of the JSON.
const FORMAT: u64 = 1;

/// End of a step with one tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    Done(Sample),
    /// The command failed: its exit code.
    Failed(i32),
    /// It was killed at the limit, in seconds.
    Exceeded(f64),
    /// It was not run, for this reason.
    Skipped(String),
}

/// One step of a part of the benchmark, with each tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// `flat`, `vpc`, `startup`
    pub(super) part: String,
    /// Size of a generated shape, otherwise 0.
    pub(super) size: usize,
    /// `plan`
    pub(super) step: String,
    /// By the name of the tool.
    pub(super) endings: BTreeMap<String, Ending>,
}

/// Results that a tool has lost in applies that were killed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Losses {
    pub(super) kills: u64,
    /// Operations that the provider had finished at the moment of the kill.
    pub(super) finished: u64,
    /// Finished operations that the state does not have afterwards.
    pub(super) lost: u64,
    /// Those of them that the next command does not name.
    pub(super) unnamed: u64,
}

/// Facts for the reader, in order: name and value.
pub(super) type Facts = Vec<(String, String)>;

/// Everything that a run has found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Results {
    /// Facts about the machine and the run.
    pub(super) facts: Facts,
    /// The command that repeats the run.
    pub(super) command: String,
    /// Versions by the name of the tool.
    pub(super) versions: BTreeMap<String, String>,
    pub(super) rows: Vec<Row>,
    pub(super) losses: BTreeMap<String, Losses>,
}

impl Ending {
    fn to_json(&self) -> Json {
        match self {
            Ending::Done(sample) => json!({ "done": sample.to_json() }),
            Ending::Failed(code) => json!({ "failed": code }),
            Ending::Exceeded(limit) => json!({ "exceeded": limit }),
            Ending::Skipped(reason) => json!({ "skipped": reason }),
        }
    }

    fn from_json(json: &Json) -> Option<Ending> {
        let (kind, value) = json.as_object()?.iter().next()?;
        Some(match kind.as_str() {
            "done" => Ending::Done(Sample::from_json(value)),
            "failed" => Ending::Failed(value.as_i64()?.try_into().ok()?),
            "exceeded" => Ending::Exceeded(value.as_f64()?),
            "skipped" => Ending::Skipped(value.as_str()?.to_owned()),
            _ => return None,
        })
    }
}

impl Row {
    /// The figures of a tool, if the step was done.
    pub(super) fn sample(&self, tool: &str) -> Option<&Sample> {
        match self.endings.get(tool) {
            Some(Ending::Done(sample)) => Some(sample),
            _ => None,
        }
    }

    /// Ratio of the other tool's figure to ours, if both did the step.
    pub(super) fn ratio(&self, figure: impl Fn(&Sample) -> f64) -> Option<f64> {
        let (ours, peer) = (figure(self.sample(OURS)?), figure(self.sample(PEER)?));
        (ours > 0.0).then_some(peer / ours)
    }

    fn to_json(&self) -> Json {
        let endings: BTreeMap<&String, Json> = self.endings.iter().map(|(tool, end)| (tool, end.to_json())).collect();
        json!({ "part": self.part, "size": self.size, "step": self.step, "endings": endings })
    }

    fn from_json(json: &Json) -> Option<Row> {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let endings = json["endings"].as_object()?.iter();
        Some(Row {
            part: text("part")?,
            size: json["size"].as_u64()?.try_into().ok()?,
            step: text("step")?,
            endings: endings.map(|(tool, end)| Some((tool.clone(), Ending::from_json(end)?))).collect::<Option<_>>()?,
        })
    }
}

impl Losses {
    fn to_json(&self) -> Json {
        json!({ "kills": self.kills, "finished": self.finished, "lost": self.lost, "unnamed": self.unnamed })
    }

    fn from_json(json: &Json) -> Option<Losses> {
        let number = |name: &str| json[name].as_u64();
        Some(Losses {
            kills: number("kills")?,
            finished: number("finished")?,
            lost: number("lost")?,
            unnamed: number("unnamed")?,
        })
    }
}

impl Results {
    /// The row of a step, if it was measured.
    pub(super) fn row(&self, part: &str, size: usize, step: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.part == part && row.size == size && row.step == step)
    }

    /// Rows of a part.
    pub(super) fn of<'r>(&'r self, part: &'r str) -> impl Iterator<Item = &'r Row> {
        self.rows.iter().filter(move |row| row.part == part)
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.losses.is_empty()
    }

    pub(super) fn to_text(&self) -> String {
        let losses: BTreeMap<&String, Json> = self.losses.iter().map(|(tool, lost)| (tool, lost.to_json())).collect();
        let json = json!({
            "format": FORMAT,
            "facts": self.facts,
            "command": self.command,
            "versions": self.versions,
            "rows": self.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
            "losses": losses,
        });
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    }

    /// From the text that [`Results::to_text`] has made.
    pub(super) fn from_text(text: &str) -> Result<Results, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if json["format"].as_u64() != Some(FORMAT) {
            return Err(format!("the format is {}, not {FORMAT}", json["format"]));
        }
        let read = || -> Option<Results> {
            let pair = |fact: &Json| Some((fact[0].as_str()?.to_owned(), fact[1].as_str()?.to_owned()));
            let version = |(tool, version): (&String, &Json)| Some((tool.clone(), version.as_str()?.to_owned()));
            let losses = json["losses"].as_object()?.iter();
            Some(Results {
                facts: json["facts"].as_array()?.iter().map(pair).collect::<Option<_>>()?,
                command: json["command"].as_str()?.to_owned(),
                versions: json["versions"].as_object()?.iter().map(version).collect::<Option<_>>()?,
                rows: json["rows"].as_array()?.iter().map(Row::from_json).collect::<Option<_>>()?,
                losses: losses
                    .map(|(tool, lost)| Some((tool.clone(), Losses::from_json(lost)?)))
                    .collect::<Option<_>>()?,
            })
        };
        read().ok_or_else(|| "a value is missing or has another type".to_owned())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row with both tools done.
    pub(in super::super) fn row(part: &str, size: usize, step: &str, ours: f64, peer: f64) -> Row {
        let sample = |wall: f64| Sample {
            wall,
            cpu: wall * 1.5,
            own_cpu: wall,
            memory: wall * 100.0,
            all_memory: wall * 120.0,
            ..Sample::default()
        };
        let endings = [(OURS, ours), (PEER, peer)].map(|(tool, wall)| (tool.to_owned(), Ending::Done(sample(wall))));
        Row { part: part.into(), size, step: step.into(), endings: endings.into() }
    }

    /// Results of two sizes, with a step that the other tool has not done.
    pub(in super::super) fn results() -> Results {
        let mut large = row("flat", 5000, "plan", 0.5, 40.0);
        large.endings.insert(PEER.into(), Ending::Exceeded(30.0));
        let vpc = row("vpc", 0, "plan", 2.0, 4.0);
        let losses = |lost| Losses { kills: 3, finished: 300, lost, unnamed: lost / 2 };
        Results {
            facts: vec![("Processor".into(), "2 x Test CPU".into()), ("Seed".into(), "1".into())],
            command: "cargo xtask bench --peer tofu --publish".into(),
            versions: [(OURS.to_owned(), "0.1.0".to_owned()), (PEER.to_owned(), "1.12.6".to_owned())].into(),
            rows: vec![row("startup", 0, "version", 0.002, 0.1), row("flat", 1000, "plan", 0.1, 2.0), large, vpc],
            losses: [(OURS.to_owned(), losses(2)), (PEER.to_owned(), losses(100))].into(),
        }
    }

    #[test]
    fn results_are_read_back() {
        let mut results = results();
        results.rows[0].endings.insert(PEER.into(), Ending::Skipped("not asked for".into()));
        results.rows[1].endings.insert(PEER.into(), Ending::Failed(1));
        assert_eq!(Results::from_text(&results.to_text()), Ok(results));
        assert!(Results::from_text("{}").is_err());
        assert!(Results::from_text("{\"format\": 1}").is_err());
    }

    #[test]
    fn ratios_exist_where_both_tools_are_done() {
        let results = results();
        let ratio = |size| results.row("flat", size, "plan").and_then(|row| row.ratio(|sample| sample.wall));
        assert_eq!(ratio(1000), Some(20.0));
        assert_eq!(ratio(5000), None);
    }
}
