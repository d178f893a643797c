//! Values for the variables of the root module: where they come from, which of them wins, and how a text becomes a value.
//!
//! Pure: the caller provides the strings of flags, files and environment variables.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ecow::EcoString;
use yuba_config::variable::{Parsing, Variable};
use yuba_syntax::body::{BlockSchema, BodySchema};
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Diagnostics, Expr, FileId, SourceFile, Sources, Span, json, parser};
use yuba_value::{Mark, Value, convert, ops};

use crate::constant::constant;
use crate::diagnostics;
pub use crate::diagnostics::required_variable as required;

/// Environment variables that set variables have names that start so.
pub const ENVIRONMENT_PREFIX: &str = "TF_VAR_";
const DEFAULT_FILES: [&str; 2] = ["terraform.tfvars", "terraform.tfvars.json"];

/// Source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOrigin {
    /// `TF_VAR_name`
    Environment,
    /// A file that is read without being asked for.
    AutoFile,
    /// `-var-file`
    NamedFile,
    /// `-var`
    CommandLine,
    /// A response to a prompt.
    Prompt,
}

/// Source of the value of a variable of the root module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenBy {
    /// An expression of a file.
    Expression(Span),
    /// An environment variable.
    Environment,
    /// `-var`
    Flag,
    /// A response to a prompt.
    Answer,
}

/// The value given for a variable.
#[derive(Clone, Debug)]
struct Given {
    content: Content,
    origin: InputOrigin,
}

#[derive(Clone, Debug)]
enum Content {
    /// A string that is parsed as the variable's declaration says.
    Text(FileId, EcoString),
    /// An expression of a file.
    Expr(Arc<Expr>),
}

/// Prompts for the value of a variable; `None` if prompts are disabled.
pub type Ask = Box<dyn Fn(&Variable) -> Option<String> + Send + Sync>;

/// Values given for variables of the root module, by name.
#[derive(Default)]
pub struct Inputs {
    given: BTreeMap<EcoString, Given>,
    /// Values that were evaluated already, with their locations; other required values are unknown.
    evaluated: Option<BTreeMap<EcoString, (Value, Span)>>,
    /// Values that are stored with the workspace. Everything else that is given goes first.
    stored: BTreeMap<EcoString, Value>,
    ask: Option<Ask>,
    answers: Mutex<BTreeMap<EcoString, Option<EcoString>>>,
}

/// The text of a file with values.
#[derive(Clone, Copy, Debug)]
pub struct VarFile<'a> {
    /// Its name, as shown to people.
    pub name: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// A flag of the command line that sets variables. Later ones win.
#[derive(Clone, Copy, Debug)]
pub enum VarFlag<'a> {
    /// `-var name=value`
    Var(&'a str),
    /// `-var-file name`
    File(VarFile<'a>),
}

/// A value for a declared variable.
#[derive(Clone, Debug)]
pub struct InputValue {
    /// As given, not converted.
    pub value: Value,
    /// Its source.
    pub origin: InputOrigin,
    /// Its location, if in a file.
    pub span: Option<Span>,
}

/// The names, of the entries of a directory, of files with values that are read without being asked for, in the order in
/// which they are read: later ones win.
pub fn auto_files<'a>(entries: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let rank = |name: &str| match DEFAULT_FILES.iter().position(|default| *default == name) {
        Some(at) => Some(at),
        None if name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json") => Some(DEFAULT_FILES.len()),
        None => None,
    };
    let mut found: Vec<(usize, &str)> = entries.into_iter().filter_map(|name| Some((rank(name)?, name))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

impl Inputs {
    /// Collects values: from the environment (name and value, with prefix), files that are read without being asked for, and
    /// flags; in this order, so that later ones win.
    pub fn collect<'a>(
        sources: &mut Sources,
        environment: impl IntoIterator<Item = (&'a str, &'a str)>,
        auto: &[VarFile<'_>],
        flags: &[VarFlag<'_>],
    ) -> (Inputs, Diagnostics) {
        let mut inputs = Inputs::default();
        let mut problems = Diagnostics::new();
        for (name, text) in environment {
            if let Some(name) = name.strip_prefix(ENVIRONMENT_PREFIX) {
                inputs.insert_text(sources, name, text, InputOrigin::Environment);
            }
        }
        for file in auto {
            problems.extend(inputs.insert_file(sources, file, InputOrigin::AutoFile));
        }
        for flag in flags {
            match flag {
                VarFlag::File(file) => problems.extend(inputs.insert_file(sources, file, InputOrigin::NamedFile)),
                VarFlag::Var(text) => match text.split_once('=') {
                    None => problems.push(diagnostics::malformed_var_option(text)),
                    Some((name, value)) if name.ends_with(' ') => {
                        problems.push(diagnostics::space_in_var_option(name, value))
                    }
                    Some((name, value)) => inputs.insert_text(sources, name, value, InputOrigin::CommandLine),
                },
            }
        }
        (inputs, problems)
    }

    /// Values that were evaluated already, with their locations. Other required values are unknown.
    pub fn evaluated(values: BTreeMap<EcoString, (Value, Span)>) -> Inputs {
        Inputs { evaluated: Some(values), ..Inputs::default() }
    }

    /// With the values of a plan that was saved. Values that must not be saved are given again.
    #[must_use]
    pub fn planned(mut self, values: BTreeMap<EcoString, (Value, Span)>) -> Inputs {
        self.evaluated = Some(values);
        self
    }

    /// Values that differ from those of a saved plan, and ephemeral variables without default that were not given
    /// again.
    pub fn contradictions(&self, variables: &BTreeMap<EcoString, Variable>) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let Some(planned) = &self.evaluated else { return problems };
        for (name, variable) in variables {
            if variable.ephemeral == Some(true) {
                if variable.default.is_none() && !self.given.contains_key(name) {
                    problems.push(diagnostics::required_again(variable));
                }
                continue;
            }
            let (Some((planned, _)), Some(given)) = (planned.get(name), self.given.get(name)) else { continue };
            let (input, wrong) = given.read(variable.parsing);
            if wrong.has_errors() {
                problems.extend(wrong);
            } else if ops::equals(&input.value, planned).as_bool() == Some(false) {
                problems.push(diagnostics::unlike_planned(name));
            }
        }
        problems
    }

    /// With values that are stored with the workspace, for variables without another value.
    #[must_use]
    pub fn with_stored(mut self, values: BTreeMap<EcoString, Value>) -> Inputs {
        self.stored = values;
        self
    }

    /// With prompts for missing values.
    #[must_use]
    pub fn asking(mut self, ask: Ask) -> Inputs {
        self.ask = Some(ask);
        self
    }

    fn insert_text(&mut self, sources: &mut Sources, name: &str, text: &str, origin: InputOrigin) {
        let file = sources.add(SourceFile::new(format!("<value for var.{name}>"), text.as_bytes()));
        self.given.insert(name.into(), Given { content: Content::Text(file, text.into()), origin });
    }

    fn insert_file(&mut self, sources: &mut Sources, file: &VarFile<'_>, origin: InputOrigin) -> Diagnostics {
        let id = sources.add(SourceFile::new(file.name, file.bytes));
        let is_json = file.name.ends_with(".json");
        let could_be_json =
            !is_json && !file.name.ends_with(".tfvars") && file.bytes.trim_ascii_start().starts_with(b"{");
        let parsed = match is_json || could_be_json {
            true => json::parse_config(id, file.bytes),
            false => parser::parse_config(id, file.bytes).1,
        };
        let mut problems = parsed.diagnostics;
        let declaration = BlockSchema { kind: "variable".into(), labels: vec!["name".into()] };
        let schema = BodySchema { attributes: Vec::new(), blocks: vec![declaration] };
        for block in parsed.body.partial_content(&schema).0.blocks {
            let name = block.labels.first().map(|label| label.0.as_str()).unwrap_or_default();
            problems.push(diagnostics::declaration_in_values(name, file.name, block.kind_span));
        }
        if problems.has_errors() {
            return problems;
        }
        let (arguments, found) = parsed.body.just_attributes();
        problems.extend(found);
        for argument in arguments {
            self.given.insert(argument.name, Given { content: Content::Expr(argument.expr), origin });
        }
        problems
    }

    /// Everything that was given and can be read without a declaration, by name: texts are just that.
    pub fn literals(&self) -> BTreeMap<EcoString, Value> {
        let read = |(name, given): (&EcoString, &Given)| {
            let (input, problems) = given.read(Parsing::Literal);
            (!problems.has_errors()).then(|| (name.clone(), input.value))
        };
        self.given.iter().filter_map(read).collect()
    }

    /// Whether anything was given for a variable.
    pub fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// The source of a variable's value that is not null: a file, a flag or the environment.
    pub fn given_by(&self, variable: &Variable) -> Option<GivenBy> {
        let given = self.given.get(&variable.name)?;
        let (input, _) = given.read(variable.parsing);
        if input.value.is_null() {
            return None;
        }
        Some(match (input.span, given.origin) {
            (Some(span), _) => GivenBy::Expression(span),
            (None, InputOrigin::Environment) => GivenBy::Environment,
            (None, InputOrigin::CommandLine) => GivenBy::Flag,
            (None, InputOrigin::AutoFile | InputOrigin::NamedFile | InputOrigin::Prompt) => GivenBy::Answer,
        })
    }

    /// The value given for a variable, or entered at the prompt because it is required; with its errors.
    pub fn value(&self, variable: &Variable) -> Option<(Value, Option<Span>, Diagnostics)> {
        let again = variable.ephemeral == Some(true) && self.given.contains_key(&variable.name);
        if let Some(evaluated) = self.evaluated.as_ref().filter(|_| !again) {
            return match evaluated.get(&variable.name) {
                Some((value, span)) => Some((value.clone(), Some(*span), Diagnostics::new())),
                None if variable.default.is_some() => None,
                None => Some((Value::unknown_dynamic(), None, Diagnostics::new())),
            };
        }
        match self.given.get(&variable.name) {
            Some(given) => {
                let (input, problems) = given.read(variable.parsing);
                Some((input.value, input.span, problems))
            }
            None if self.stored.contains_key(&variable.name) => {
                self.stored.get(&variable.name).map(|value| (value.clone(), None, Diagnostics::new()))
            }
            None if variable.default.is_some() => None,
            None => {
                let answer = self.ask(variable)?;
                let given = Given { content: Content::Text(FileId::default(), answer), origin: InputOrigin::Prompt };
                let (input, mut problems) = given.read(variable.parsing);
                if problems.has_errors() {
                    // The entered value is not in a file that could be shown.
                    problems = diagnostics::unreadable_input(variable, &problems).into();
                }
                Some((input.value, None, problems))
            }
        }
    }

    /// The source of the value of a variable for messages. `span` is the location of its expression in a file.
    pub fn given_at<'a>(&self, variable: &Variable, span: Option<Span>, sources: &'a Sources) -> GivenAt<'a> {
        match (span, self.given.get(&variable.name)) {
            (Some(span), _) => GivenAt::File(span, sources),
            (None, Some(given)) => GivenAt::Outside(given.origin),
            (None, None) if self.stored.contains_key(&variable.name) => GivenAt::Outside(InputOrigin::Prompt),
            (None, None) if variable.default.is_none() && self.ask.is_some() => GivenAt::Outside(InputOrigin::Prompt),
            (None, None) => GivenAt::Nowhere,
        }
    }

    fn ask(&self, variable: &Variable) -> Option<EcoString> {
        let ask = self.ask.as_ref()?;
        let mut answers = self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let answer = answers.entry(variable.name.clone()).or_insert_with(|| ask(variable).map(EcoString::from));
        answer.clone()
    }

    /// The values of declared variables, and the errors: values that cannot be read, values for variables that are not
    /// declared, and required variables without value.
    pub fn resolve(
        &self,
        variables: &BTreeMap<EcoString, Variable>,
        sources: &Sources,
    ) -> (BTreeMap<EcoString, InputValue>, Diagnostics) {
        let mut found = BTreeMap::new();
        let mut problems = Diagnostics::new();
        for (name, variable) in variables {
            match self.given.get(name) {
                Some(given) => {
                    let (value, wrong) = given.read(variable.parsing);
                    if !wrong.has_errors() {
                        found.insert(name.clone(), value);
                    }
                    problems.extend(wrong);
                }
                None if variable.default.is_none() => problems.push(diagnostics::required_variable(variable)),
                None => {}
            }
        }
        problems.extend(self.undeclared(variables, sources));
        (found, problems)
    }

    /// Errors about values for undeclared variables.
    pub fn undeclared(&self, variables: &BTreeMap<EcoString, Variable>, sources: &Sources) -> Diagnostics {
        const SHOWN: usize = 2;
        let mut problems = Diagnostics::new();
        let mut in_files = 0;
        let near = |name: &str| did_you_mean(name, variables.keys().map(EcoString::as_str));
        for (name, given) in self.given.iter().filter(|(name, _)| !variables.contains_key(*name)) {
            match given.origin {
                // Often set for many configurations, of which not all have the variable.
                InputOrigin::Environment | InputOrigin::Prompt => {}
                InputOrigin::CommandLine => problems.push(diagnostics::undeclared_in_option(name, &near(name))),
                InputOrigin::AutoFile | InputOrigin::NamedFile => {
                    let (value, wrong) = given.read(Parsing::Literal);
                    if wrong.has_errors() {
                        continue;
                    }
                    in_files += 1;
                    if in_files <= SHOWN {
                        let file = value.span.and_then(|span| sources.get(span.file));
                        problems.push(diagnostics::undeclared_in_file(
                            name,
                            &near(name),
                            file.map_or("", |file| &file.name),
                        ));
                    }
                }
            }
        }
        if in_files > SHOWN {
            problems.push(diagnostics::more_undeclared(in_files - SHOWN));
        }
        problems
    }
}

impl Given {
    fn read(&self, parsing: Parsing) -> (InputValue, Diagnostics) {
        let (value, span, problems) = match &self.content {
            Content::Text(_, text) if parsing == Parsing::Literal => {
                (Value::string(text.clone()), None, Diagnostics::new())
            }
            Content::Text(file, text) => {
                let (expr, mut problems) = parser::parse_expression(*file, text.as_bytes());
                let mut value = Value::unknown_dynamic();
                if !problems.has_errors() {
                    let (found, wrong) = constant(&expr);
                    problems.extend(wrong);
                    value = found;
                }
                (value, None, problems)
            }
            Content::Expr(expr) => {
                let (value, problems) = constant(expr);
                (value, Some(expr.span), problems)
            }
        };
        (InputValue { value, origin: self.origin, span }, problems)
    }
}

/// The source of the value of a variable for messages.
#[derive(Clone, Copy)]
pub enum GivenAt<'a> {
    /// Messages are about the declaration.
    Nowhere,
    /// Outside of files. Messages are about the declaration and name the option or the environment variable.
    Outside(InputOrigin),
    /// By an argument of a module call, which messages show.
    Argument(Span),
    /// In a file of values. Messages name the location without the source line: values of variables may be
    /// confidential.
    File(Span, &'a Sources),
}

impl GivenAt<'_> {
    pub(crate) fn span(self) -> Option<Span> {
        match self {
            GivenAt::Nowhere | GivenAt::Outside(_) => None,
            GivenAt::Argument(span) | GivenAt::File(span, _) => Some(span),
        }
    }
}

/// The value of a variable as expressions of its module see it: the default where nothing was given, defaults of optional
/// attributes filled in, converted to the declared type, marked as declared.
pub fn prepare(variable: &Variable, given: Option<Value>, location: GivenAt<'_>) -> (Value, Diagnostics) {
    let mut problems = Diagnostics::new();
    let is_given = given.is_some();
    let mut value = match given.or_else(|| variable.default.clone()) {
        Some(value) => value,
        None => {
            problems.push(diagnostics::required_variable(variable));
            return (Value::unknown(variable.constraint.clone()), problems);
        }
    };
    if let Some(defaults) = variable.type_defaults.as_ref().filter(|_| is_given && !value.is_null()) {
        value = defaults.apply(&value);
    }
    value = match convert::convert(&value, &variable.constraint) {
        Ok(value) => value,
        Err(reason) => {
            let hidden = variable.sensitive == Some(true) || variable.ephemeral == Some(true);
            let reason = if hidden { reason.located_without_keys() } else { reason.located_in(&value) };
            problems.push(diagnostics::invalid_input(variable, &reason, location));
            return (Value::unknown_dynamic(), problems);
        }
    };
    if value.is_null() && variable.nullable == Some(false) {
        match &variable.default {
            Some(default) => value = default.clone(),
            None => problems.push(diagnostics::null_for_required(variable, location)),
        }
    }
    if variable.sensitive == Some(true) {
        value = value.mark(Mark::Sensitive);
    }
    if variable.ephemeral == Some(true) {
        value = value.mark(Mark::Ephemeral);
    }
    (value, problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use yuba_config::{Decoding, ParsedConfigFile, decode_module};

    /// The values of the variables in `main.tf`; then the errors.
    fn check(config: &str, env: &[(&str, &str)], auto: &[(&str, &str)], flags: &[VarFlag<'_>], expect: &Expect) {
        let mut sources = Sources::new();
        let file = sources.add(SourceFile::new("main.tf", config.as_bytes()));
        let parsed = parser::parse_config(file, config.as_bytes()).1;
        let (body, diagnostics) = (parsed.body, parsed.diagnostics);
        let files = [ParsedConfigFile { name: "main.tf".into(), file, body, diagnostics, is_override: false }];
        let (module, found) = decode_module(".", &files, &Decoding::new(&constant, &sources));
        assert!(!found.has_errors(), "{found:?}");
        let auto: Vec<VarFile<'_>> = auto.iter().map(|(name, text)| VarFile { name, bytes: text.as_bytes() }).collect();
        let (inputs, mut problems) = Inputs::collect(&mut sources, env.iter().copied(), &auto, flags);
        let (values, found) = inputs.resolve(&module.variables, &sources);
        problems.extend(found);
        let mut out = String::new();
        for (name, variable) in &module.variables {
            let given = values.get(name);
            if given.is_none() && variable.default.is_none() {
                continue;
            }
            let location = inputs.given_at(variable, given.and_then(|given| given.span), &sources);
            let (value, found) = prepare(variable, given.map(|given| given.value.clone()), location);
            let origin = given.map(|given| format!("{:?}", given.origin)).unwrap_or_default();
            let text = yuba_value::json::encode_plain(&value.unmark_deep().0).unwrap_or_default();
            out += &format!("{name} = {text} {origin}\n");
            problems.extend(found);
        }
        for problem in problems.iter() {
            let location = problem.subject.and_then(|span| crate::template::location(Some(&sources), span));
            let severity = if problem.is_error() { "error" } else { "warning" };
            let explanation = problem.explanation();
            let detail = explanation.lines().next().unwrap_or_default();
            out += &format!("{severity} {} {}: {detail}\n", location.as_deref().unwrap_or("-"), problem.summary);
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn later_sources_win() {
        let config = "variable \"a\" {}\nvariable \"b\" {}\nvariable \"c\" {}\nvariable \"d\" {}\nvariable \"e\" {}\n";
        let env = [("TF_VAR_a", "env"), ("TF_VAR_b", "env"), ("TF_VAR_undeclared", "x"), ("OTHER", "x")];
        let auto =
            [("terraform.tfvars", "b = \"default\"\nc = \"default\""), ("z.auto.tfvars.json", "{\"c\": \"${no}\"}")];
        let file = VarFile { name: "named", bytes: b" {\"d\": [1, \"x\"]}" };
        let flags = [VarFlag::Var("d=flag"), VarFlag::File(file), VarFlag::Var("e=f=g")];
        check(
            config,
            &env,
            &auto,
            &flags,
            &expect![[r#"
            a = "env" Environment
            b = "default" AutoFile
            c = "${no}" AutoFile
            d = [1,"x"] NamedFile
            e = "f=g" CommandLine
        "#]],
        );
        assert_eq!(
            auto_files([
                "z.auto.tfvars",
                "a.auto.tfvars.json",
                "terraform.tfvars.json",
                "x.tfvars",
                "terraform.tfvars"
            ]),
            ["terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars.json", "z.auto.tfvars"]
        );
    }

    #[test]
    fn texts_are_read_as_the_declaration_says() {
        let config = r#"
variable "text" { type = string }
variable "list" { type = list(number) }
variable "object" { type = object({ a = optional(string, "x"), b = number }) }
variable "wrong" { type = list(string) }
variable "call" { type = list(string) }
variable "strict" {
  nullable = false
  default  = 5
}
"#;
        let flags = [
            VarFlag::Var("text=[1"),
            VarFlag::Var("list=[1, \"2\"]"),
            VarFlag::Var("object={ b = 1 + 1 }"),
            VarFlag::Var("wrong=[1"),
            VarFlag::Var("call=f(var.x)"),
            VarFlag::File(VarFile { name: "x.tfvars", bytes: b"strict = null" }),
        ];
        check(
            config,
            &[],
            &[],
            &flags,
            &expect![[r#"
                list = [1,2] CommandLine
                object = {"a":"x","b":2} CommandLine
                strict = 5 NamedFile
                text = "[1" CommandLine
                error <value for var.call>:1,1-9 Function calls not allowed: This value must be a constant, so it cannot call functions.
                error <value for var.wrong>:1,1-2 Unterminated tuple constructor expression: The input ends before this tuple is closed. Its closing bracket ("]") is missing, or brackets inside of it do not match.
            "#]],
        );
    }

    #[test]
    fn errors_in_given_values() {
        let config = "variable \"required\" {}\nvariable \"n\" { type = number }\n";
        let flags = [
            VarFlag::Var("none"),
            VarFlag::Var("n =1"),
            VarFlag::Var("undeclared=1"),
            VarFlag::File(VarFile { name: "a.tfvars", bytes: b"n = \"x\"\nb = 1\nc = 1\nd = 1\ne = 1" }),
            VarFlag::File(VarFile { name: "b.tfvars", bytes: b"variable \"n\" {}\n" }),
        ];
        check(
            config,
            &[],
            &[],
            &flags,
            &expect![[r#"
                n =  NamedFile
                error - Invalid -var option: The option -var "none" does not contain an equals sign. Write a variable name and a value: -var="name=value".
                error - Invalid -var option: The variable name "n " ends with a space. Did you mean -var="n=1"?
                error b.tfvars:1,1-9 Variable declaration in .tfvars file: A .tfvars file sets variables that a .tf file declares.
                error main.tf:1,1-20 No value for required variable: The root module variable "required" has no default and is not set. Set it with -var or -var-file.
                warning - Value for undeclared variable: The file "a.tfvars" sets the variable "b", but the root module does not declare a variable of this name.
                warning - Value for undeclared variable: The file "a.tfvars" sets the variable "c", but the root module does not declare a variable of this name.
                error - Value for undeclared variable: A -var option sets the variable "undeclared", but the root module does not declare a variable of this name. To use the value, add a variable "undeclared" block to the configuration.
                warning - Values for undeclared variables: The variable files contain 2 more values for variables that the root module does not declare.
                error main.tf:2,1-13 Invalid value for input variable: The value of var.n, set at a.tfvars:1,5, is not valid: a number is required.
            "#]],
        );
    }
}
