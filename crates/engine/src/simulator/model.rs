//! Random configurations, and random edits of them.
//!
//! Every block has a number, and refers to blocks with lower numbers only: so no edit can make a cycle, not even with what
//! an older configuration has left in the state.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Numbers that look random, the same ones for the same seed.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Repeat {
    Single,
    Count(u64),
    /// Keys as bits.
    Each(u64),
    Enabled(bool),
    /// The same keys as another block.
    Like(u64),
}

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

impl Repeat {
    fn random(chance: &mut Chance) -> Repeat {
        match chance.below(6) {
            0 | 1 => Repeat::Single,
            2 => Repeat::Count(chance.below(4)),
            3 => Repeat::Each(chance.below(16)),
            4 => Repeat::Enabled(!chance.one_in(3)),
            _ => Repeat::Like(chance.below(1000)),
        }
    }
    fn key(self) -> &'static str {
        match self {
            Repeat::Single | Repeat::Enabled(_) => "x",
            Repeat::Count(_) => "${count.index}",
            Repeat::Each(_) | Repeat::Like(_) => "${each.key}",
        }
    }
    fn lines(self, things: &BTreeMap<u64, Thing>) -> String {
        match self {
            Repeat::Single | Repeat::Enabled(_) => String::new(),
            Repeat::Count(count) => format!("  count = {count}\n"),
            Repeat::Each(keys) => {
                let keys = KEYS.iter().enumerate().filter(|(at, _)| keys & (1 << at) != 0);
                let keys: Vec<String> = keys.map(|(_, key)| format!("{key:?}")).collect();
                format!("  for_each = toset([{}])\n", keys.join(", "))
            }
            Repeat::Like(other) => match things.get(&other) {
                Some(other) => format!("  for_each = {}\n", other.path()),
                None => String::new(),
            },
        }
    }
    /// The value in each instance: `of` the block at a path.
    fn each(self, path: &str, of: &str) -> String {
        match self {
            Repeat::Single => format!("[{path}.{of}]"),
            Repeat::Count(_) | Repeat::Enabled(_) => format!("{path}[*].{of}"),
            Repeat::Each(_) | Repeat::Like(_) => format!("values({path})[*].{of}"),
        }
    }
}

#[derive(Clone)]
struct Thing {
    number: u64,
    builtin: bool,
    repeat: Repeat,
    refers: BTreeSet<u64>,
    after: BTreeSet<u64>,
    create_before_destroy: bool,
    size: u64,
    kind: u64,
    /// Served by the instance of the provider that has its key.
    regional: bool,
}

impl Thing {
    fn random(number: u64, chance: &mut Chance) -> Thing {
        Thing {
            number,
            builtin: chance.one_in(4),
            repeat: Repeat::random(chance),
            refers: BTreeSet::new(),
            after: BTreeSet::new(),
            create_before_destroy: chance.one_in(4),
            size: chance.below(3),
            kind: chance.below(3),
            regional: chance.one_in(4),
        }
    }
    fn path(&self) -> String {
        format!("{}.t{}", if self.builtin { "terraform_data" } else { "fake_thing" }, self.number)
    }
    fn seen(&self) -> String {
        let attribute = match (self.builtin, self.number % 3) {
            (_, 0 | 1) => "id",
            (true, _) => "output",
            (false, _) => "size",
        };
        self.repeat.each(&self.path(), attribute)
    }

    /// The block, with what it refers to.
    fn text(&self, around: &str, refers: &[String], after: &[String], things: &BTreeMap<u64, Thing>) -> String {
        let (kind, name) = self.path().split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap_or_default();
        let mut out = format!("resource {kind:?} {name:?} {{\n{}", self.repeat.lines(things));
        let input = format!("  input = [{}]\n", refers.join(", "));
        let key = self.repeat.key();
        match self.builtin {
            true => writeln!(out, "{input}  triggers_replace = {}", self.kind),
            false => write!(
                out,
                "{input}  name = \"{around}t{}-{key}\"\n  size = {}\n  kind = \"k{}\"\n",
                self.number, self.size, self.kind
            ),
        }
        .expect("because writing to a string works");
        let keyed = matches!(self.repeat, Repeat::Each(_) | Repeat::Like(_));
        if self.regional && keyed && !self.builtin && around.is_empty() {
            out += "  provider = fake.by[each.key]\n";
        }
        if !after.is_empty() {
            out += &format!("  depends_on = [{}]\n", after.join(", "));
        }
        if self.create_before_destroy || matches!(self.repeat, Repeat::Enabled(_)) {
            out += "  lifecycle {\n";
            if self.create_before_destroy {
                out += "    create_before_destroy = true\n";
            }
            if let Repeat::Enabled(enabled) = self.repeat {
                out += &format!("    enabled = {enabled}\n");
            }
            out += "  }\n";
        }
        out + "}\n"
    }
}

#[derive(Clone)]
struct Call {
    number: u64,
    repeat: Repeat,
    refers: BTreeSet<u64>,
    after: BTreeSet<u64>,
    things: BTreeMap<u64, Thing>,
}

impl Call {
    fn seen(&self) -> String {
        self.repeat.each(&format!("module.m{}", self.number), "ids")
    }
}

/// A configuration.
#[derive(Clone, Default)]
pub(super) struct Model {
    things: BTreeMap<u64, Thing>,
    calls: BTreeMap<u64, Call>,
    /// `moved` blocks.
    moves: Vec<(String, String)>,
}

impl Model {
    pub(super) fn random(chance: &mut Chance) -> Model {
        let mut model = Model::default();
        for _ in 0..2 + chance.below(5) {
            model.add(chance);
        }
        model
    }

    fn add(&mut self, chance: &mut Chance) {
        let number = chance.below(90) + 10;
        if self.things.contains_key(&number) || self.calls.contains_key(&number) {
            return;
        }
        if chance.one_in(4) {
            let mut things = BTreeMap::new();
            for _ in 0..1 + chance.below(3) {
                let number = chance.below(9);
                let mut thing = Thing::random(number, chance);
                if let Repeat::Like(_) = thing.repeat {
                    thing.repeat = Repeat::Single;
                }
                things.insert(number, thing);
            }
            let repeat = match Repeat::random(chance) {
                Repeat::Like(_) => Repeat::Single,
                repeat => repeat,
            };
            let call = Call { number, repeat, refers: BTreeSet::new(), after: BTreeSet::new(), things };
            self.calls.insert(number, call);
        } else {
            let thing = Thing::random(number, chance);
            // A newly declared object has not moved away.
            self.moves.retain(|(from, _)| *from != thing.path());
            self.things.insert(number, thing);
        }
        self.rewire(number, chance);
        self.settle();
    }

    /// Gives an object of the root module the next number, and reports it.
    fn rename(&mut self, number: u64) {
        let next = number + 1;
        if self.things.contains_key(&next) || self.calls.contains_key(&next) {
            return;
        }
        let Some(mut thing) = self.things.remove(&number) else { return };
        let from = thing.path();
        thing.number = next;
        let to = thing.path();
        self.moves.retain(|(old, _)| *old != to && *old != from);
        self.moves.push((from, to));
        self.things.insert(next, thing);
        let renamed = |numbers: &mut BTreeSet<u64>| {
            if numbers.remove(&number) {
                numbers.insert(next);
            }
        };
        for other in self.things.values_mut() {
            renamed(&mut other.refers);
            renamed(&mut other.after);
            if other.repeat == Repeat::Like(number) {
                other.repeat = Repeat::Like(next);
            }
        }
        for call in self.calls.values_mut() {
            renamed(&mut call.refers);
            renamed(&mut call.after);
        }
    }

    /// The address of an object of the root module, for use as a target. Returns none with moves: a moved object must
    /// not be left out.
    pub(super) fn target(&self, chance: &mut Chance) -> Option<String> {
        if !self.moves.is_empty() {
            return None;
        }
        let paths: Vec<String> = self.things.values().map(Thing::path).collect();
        paths.get(chance.below(paths.len().max(1) as u64) as usize).cloned()
    }

    /// Whether an object of the root module has exactly one instance, without key.
    pub(super) fn is_single(&self, path: &str) -> bool {
        self.things.values().any(|thing| thing.path() == path && thing.repeat == Repeat::Single && !thing.builtin)
    }

    /// Other references of a block.
    fn rewire(&mut self, number: u64, chance: &mut Chance) {
        let lower: Vec<u64> = self.things.keys().chain(self.calls.keys()).copied().filter(|n| *n < number).collect();
        let mut some = |rarely: u64| lower.iter().copied().filter(|_| chance.one_in(rarely)).collect::<BTreeSet<_>>();
        let (refers, after) = (some(2), some(6));
        if let Some(thing) = self.things.get_mut(&number) {
            (thing.refers, thing.after) = (refers, after);
        } else if let Some(call) = self.calls.get_mut(&number) {
            (call.refers, call.after) = (refers, after);
            let numbers: Vec<u64> = call.things.keys().copied().collect();
            for thing in call.things.values_mut() {
                let lower = numbers.iter().copied().filter(|n| *n < thing.number);
                thing.refers = lower.filter(|_| chance.one_in(2)).collect();
                if chance.one_in(2) {
                    thing.refers.insert(1000);
                }
            }
        }
    }

    /// Blocks that want the keys of another one find it, or have no keys.
    fn settle(&mut self) {
        let keyed: BTreeSet<u64> = self
            .things
            .values()
            .filter(|thing| matches!(thing.repeat, Repeat::Each(_)))
            .map(|thing| thing.number)
            .collect();
        for thing in self.things.values_mut() {
            if thing.regional && !matches!(thing.repeat, Repeat::Each(_)) {
                thing.repeat = Repeat::Each(thing.number % 16);
            }
            if let Repeat::Like(wanted) = thing.repeat {
                let found = keyed.range(..thing.number).nth(wanted as usize % 2).or_else(|| keyed.first());
                thing.repeat = match found {
                    Some(found) if *found < thing.number => Repeat::Like(*found),
                    _ => Repeat::Single,
                };
            }
        }
    }

    /// Changes something.
    pub(super) fn edit(&mut self, chance: &mut Chance) {
        let numbers: Vec<u64> = self.things.keys().chain(self.calls.keys()).copied().collect();
        let Some(number) = numbers.get(chance.below(numbers.len() as u64) as usize).copied() else {
            return self.add(chance);
        };
        match chance.below(9) {
            8 => self.rename(number),
            0 => self.add(chance),
            1 => {
                self.things.remove(&number);
                self.calls.remove(&number);
            }
            2 => self.rewire(number, chance),
            3 if self.calls.contains_key(&number) => {
                let repeat = match Repeat::random(chance) {
                    Repeat::Like(_) => Repeat::Single,
                    repeat => repeat,
                };
                self.calls.entry(number).and_modify(|call| call.repeat = repeat);
            }
            _ => {
                let inside = |call: &mut Call, chance: &mut Chance| {
                    let inner: Vec<u64> = call.things.keys().copied().collect();
                    inner[chance.below(inner.len() as u64) as usize]
                };
                let thing = match (self.things.get_mut(&number), self.calls.get_mut(&number)) {
                    (Some(thing), _) => thing,
                    (None, Some(call)) => {
                        let inner = inside(call, chance);
                        call.things.get_mut(&inner).expect("because it has the number")
                    }
                    (None, None) => return,
                };
                let in_call = thing.number < 10;
                match chance.below(4) {
                    0 => thing.size = chance.below(3),
                    1 => thing.kind = chance.below(3),
                    2 => thing.create_before_destroy = !thing.create_before_destroy,
                    _ => {
                        thing.repeat = match Repeat::random(chance) {
                            Repeat::Like(_) if in_call => Repeat::Single,
                            repeat => repeat,
                        }
                    }
                }
            }
        }
        self.settle();
    }

    /// References to blocks with these numbers.
    fn seen(&self, numbers: &BTreeSet<u64>) -> Vec<String> {
        let seen = |number| {
            let thing = self.things.get(number).map(Thing::seen);
            thing.or_else(|| self.calls.get(number).map(Call::seen))
        };
        numbers.iter().filter_map(seen).collect()
    }

    fn paths(&self, numbers: &BTreeSet<u64>) -> Vec<String> {
        let path = |number| {
            let thing = self.things.get(number).map(Thing::path);
            thing.or_else(|| self.calls.get(number).map(|call| format!("module.m{}", call.number)))
        };
        numbers.iter().filter_map(path).collect()
    }

    /// The files of the configuration.
    pub(super) fn text(&self) -> String {
        let mut root =
            "//- main.tf\nprovider \"fake\" {\n  alias = \"base\"\n}\nephemeral \"fake_token\" \"home\" {\n  \
                        provider = fake.base\n  name = \"home\"\n}\nprovider \"fake\" {\n  region = \
                        ephemeral.fake_token.home.name\n}\nprovider \"fake\" {\n  alias = \"by\"\n  \
                        for_each = toset([\"a\", \"b\", \"c\", \"d\"])\n  region = each.key\n}\n"
                .to_owned();
        let mut modules = String::new();
        for thing in self.things.values() {
            root += &thing.text("", &self.seen(&thing.refers), &self.paths(&thing.after), &self.things);
        }
        for call in self.calls.values() {
            let number = call.number;
            root +=
                &format!("module \"m{number}\" {{\n  source = \"./m{number}\"\n{}", call.repeat.lines(&self.things));
            let refers = self.seen(&call.refers).join(", ");
            root += &format!("  given = [{refers}]\n  at = \"m{number}-{}/\"\n", call.repeat.key());
            let after = self.paths(&call.after);
            if !after.is_empty() {
                root += &format!("  depends_on = [{}]\n", after.join(", "));
            }
            if let Repeat::Enabled(enabled) = call.repeat {
                root += &format!("  lifecycle {{\n    enabled = {enabled}\n  }}\n");
            }
            root += "}\n";
            modules += &format!("//- m{number}/main.tf\nvariable \"given\" {{}}\nvariable \"at\" {{}}\n");
            for thing in call.things.values() {
                let inner = thing.refers.iter().filter_map(|number| call.things.get(number).map(Thing::seen));
                let mut refers: Vec<String> = inner.collect();
                if thing.refers.contains(&1000) {
                    refers.push("var.given".into());
                }
                modules += &thing.text("${var.at}", &refers, &[], &call.things);
            }
            let ids: Vec<String> = call.things.values().map(Thing::seen).collect();
            modules += &format!("output \"ids\" {{\n  value = [{}]\n}}\n", ids.join(", "));
        }
        for (from, to) in &self.moves {
            root += &format!("moved {{\n  from = {from}\n  to = {to}\n}}\n");
        }
        // Is read later where what it waits for changes.
        let first = self.things.values().next().map(Thing::path).unwrap_or_default();
        root += &format!(
            "data \"fake_lookup\" \"look\" {{\n  provider = fake.base\n  name = \"look\"\n  depends_on = [{first}]\n}}\n\
             output \"looked\" {{\n  value = data.fake_lookup.look.name\n}}\n"
        );
        let all: BTreeSet<u64> = self.things.keys().chain(self.calls.keys()).copied().collect();
        root += &format!("output \"all\" {{\n  value = [{}]\n}}\n", self.seen(&all).join(", "));
        root + &modules
    }

    /// For each resource, as an address without keys, all that it depends on.
    pub(super) fn dependencies(&self) -> BTreeMap<String, BTreeSet<String>> {
        // Everything in a call stands for the call; what it depends on is taken as a whole.
        let mut blocks: BTreeMap<u64, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for number in self.things.keys().chain(self.calls.keys()).copied().collect::<BTreeSet<u64>>() {
            let (mut own, mut needs) = (BTreeSet::new(), BTreeSet::new());
            let gather = |numbers: &mut dyn Iterator<Item = &u64>, needs: &mut BTreeSet<String>| {
                for other in numbers {
                    if let Some((own, all)) = blocks.get(other) {
                        needs.extend(own.iter().chain(all).cloned());
                    }
                }
            };
            if let Some(thing) = self.things.get(&number) {
                gather(&mut thing.refers.iter().chain(&thing.after), &mut needs);
                if let Repeat::Like(other) = thing.repeat {
                    gather(&mut std::iter::once(&other), &mut needs);
                }
                own.insert(thing.path());
                found.insert(thing.path(), needs.clone());
            } else if let Some(call) = self.calls.get(&number) {
                let (mut given, mut after) = (BTreeSet::new(), BTreeSet::new());
                gather(&mut call.refers.iter(), &mut given);
                gather(&mut call.after.iter(), &mut after);
                for thing in call.things.values() {
                    let path = |thing: &Thing| format!("module.m{number}.{}", thing.path());
                    let mut theirs = after.clone();
                    if thing.refers.contains(&1000) {
                        theirs.extend(given.iter().cloned());
                    }
                    for inner in thing.refers.iter().filter_map(|inner| call.things.get(inner)) {
                        theirs.insert(path(inner));
                        theirs.extend(found.get(&path(inner)).cloned().unwrap_or_default());
                    }
                    own.insert(path(thing));
                    needs.extend(theirs.iter().cloned());
                    found.insert(path(thing), theirs);
                }
            }
            blocks.insert(number, (own, needs));
        }
        found
    }
}
