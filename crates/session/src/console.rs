//! The console: expressions in, values out.
//!
//! A [`ConsoleSession`] takes lines. It joins the lines of an input, evaluates complete inputs and returns data; reading lines
//! and printing results is up to the caller.

use std::collections::{BTreeMap, BTreeSet};

use yuba_config::resource::Repetition;
use yuba_engine::RootVariable;
use yuba_eval::references::each_traversal;
use yuba_eval::symbols::SymbolScope;
use yuba_eval::tree::Purpose;
use yuba_eval::validate::PARALLELISM;
use yuba_eval::{
    CallContext, ConfigTree, EmptyModule, EvalMode, Evaluation, FunctionTable, Live, ModuleId, ModuleInstanceId,
    OtherFunctions, Scope, ValidateEnv, check_values, eval_expr,
};
use yuba_state::State;
use yuba_syntax::lexer::{self, lex};
use yuba_syntax::parser::parse_expression;
use yuba_syntax::token::TokenKind;
use yuba_syntax::{Diagnostics, Expr, SourceFile, Sources, TraversalStep};
use yuba_value::{EcoString, Mark, Type, Value};

use crate::backend::{StateFlags, state_location};
use crate::clock::wait;
use crate::loaded::{LoadOptions, Loaded};
use crate::operation::variables::{WithoutValue, add_unknown};
use crate::prepared::Prepared;
use crate::project::Project;

mod completing;
mod diagnostics;

/// The name of what was typed, in messages.
const INPUT_NAME: &str = "<console-input>";

/// Result of a line.
#[derive(Debug)]
pub enum Input {
    /// More lines are needed; so many brackets are open.
    Incomplete(usize),
    /// The expression is complete.
    Complete(ConsoleAnswer),
}

/// The result of one complete input.
#[derive(Debug)]
pub enum ConsoleAnswer {
    /// An empty line: nothing to do.
    Nothing,
    /// The user wants to leave.
    Exit,
    /// The user asks for help: [`HELP`].
    Help,
    /// The value of an expression, and warnings.
    Value(Value, Diagnostics),
    /// The user asked for a type, with warnings.
    Type(Type, Diagnostics),
    /// The user asked for the type of a type, with warnings.
    TypeOfType(Diagnostics),
    /// The expression has no value.
    Failed(Diagnostics),
}

/// Help of the console.
pub const HELP: &str = "\
Type an expression and press <enter> to see its value: operators, functions, for
expressions, and references to declarations of the configuration in this directory.
Try: [for s in [\"a\", \"b\"] : upper(s)]

An expression continues on the next line while a bracket is open, or if its line
ends with a backslash.

To leave, type \"exit\" and press <enter>, or press Control-C or Control-D.";

/// One conversation with the console.
pub struct ConsoleSession {
    project: Project,
    pending: Pending,
    sources: Sources,
    names: Option<Names>,
}

/// Scope of expressions.
struct Names {
    loaded: Loaded,
    /// The values of the root module's variables; those without value are unknown.
    variables: BTreeMap<EcoString, Value>,
    /// Variables of the root module whose given value they do not accept.
    valueless: BTreeSet<EcoString>,
    /// All values, where there is a state or modules have several instances.
    live: Option<Live>,
}

impl ConsoleSession {
    /// A console in which expressions can refer to nothing yet.
    pub fn new(project: Project) -> ConsoleSession {
        ConsoleSession { project, pending: Pending::default(), sources: Sources::new(), names: None }
    }

    /// Loads the configuration of the project, so that expressions can refer to its declarations. Fails if the
    /// configuration cannot be loaded. Errors in its expressions do not stop the console; values that depend on them
    /// are unknown.
    pub fn read(&mut self, flags: &StateFlags) -> Result<Diagnostics, Diagnostics> {
        if !self.project.has_configuration() && self.project.variables().is_empty() {
            return Ok(Diagnostics::new());
        }
        let options = LoadOptions::new(Purpose::Use).without_tests();
        let loaded = self.project.load(options).and_then(Loaded::valid_with_backend).map_err(|refusal| {
            self.sources = refusal.sources;
            refusal.problems
        })?;
        self.sources = loaded.sources.clone();
        let mut problems = loaded.diagnostics.clone();
        let (mut prepared, found) = loaded.linked().root_variables(WithoutValue::LeftOut);
        problems.extend(found);
        if problems.has_errors() {
            return Err(problems);
        }
        let mut valueless = BTreeSet::new();
        prepared.retain(|name, variable| {
            let is_valid = !variable.problems.has_errors();
            if !is_valid {
                valueless.insert(name.clone());
            }
            problems.extend(std::mem::take(&mut variable.problems));
            is_valid
        });
        let location = state_location(&loaded, flags)?;
        let opened = location.look()?;
        problems.extend(location.encryption.notes);
        problems.extend(opened.notes);
        let state = opened.state.unwrap_or_else(State::empty);
        let values = prepared.iter().map(|(name, variable)| (name.clone(), variable.value.clone()));
        let variables: BTreeMap<EcoString, Value> = values.collect();
        let (found, live) = values_of(&loaded, prepared, &variables, &state);
        match found {
            Ok(found) => problems.extend(found),
            Err(found) => {
                problems.extend(found);
                return Err(problems);
            }
        }
        if problems.has_errors() {
            problems.push(diagnostics::incomplete_values());
        }
        self.names = Some(Names { loaded, variables, valueless, live });
        Ok(problems)
    }

    /// The last input, for rendering the diagnostics of its result.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Takes one line.
    pub fn line(&mut self, line: &str) -> Input {
        let open = self.pending.add(line.trim());
        if open > 0 {
            return Input::Incomplete(usize::try_from(open).unwrap_or(usize::MAX));
        }
        let text = self.pending.take();
        Input::Complete(self.answer(&text))
    }

    /// Forgets the lines of an expression that is not complete yet.
    pub fn reset(&mut self) {
        self.pending = Pending::default();
    }

    fn answer(&mut self, text: &str) -> ConsoleAnswer {
        match text.trim() {
            "" => ConsoleAnswer::Nothing,
            "exit" => ConsoleAnswer::Exit,
            "help" => ConsoleAnswer::Help,
            _ => self.evaluate(text),
        }
    }

    /// Evaluates a whole expression, which may have several lines.
    pub fn evaluate(&mut self, text: &str) -> ConsoleAnswer {
        self.sources = self.names.as_ref().map(|names| names.loaded.sources.clone()).unwrap_or_default();
        let file = self.sources.add(SourceFile::new(INPUT_NAME, text.as_bytes()));
        let (expr, mut diagnostics) = parse_expression(file, text.as_bytes());
        if let Some(names) = &self.names {
            diagnostics.extend(names.valueless_in(&expr));
        }
        if diagnostics.has_errors() {
            return ConsoleAnswer::Failed(diagnostics);
        }
        let (value, problems) = self.value(&expr);
        diagnostics.extend(problems);
        if diagnostics.has_errors() {
            return ConsoleAnswer::Failed(diagnostics);
        }
        if value.marks().contains(&Mark::TypeText) {
            match value.as_str() {
                Some(_) => return ConsoleAnswer::TypeOfType(diagnostics),
                None if value.is_null() => return ConsoleAnswer::Type(value.ty().clone(), diagnostics),
                None => {}
            }
        }
        if value.marks_deep().contains(&Mark::TypeText) {
            diagnostics.push(diagnostics::type_used_as_value());
            return ConsoleAnswer::Failed(diagnostics);
        }
        ConsoleAnswer::Value(value, diagnostics)
    }

    fn value(&self, expr: &Expr) -> (Value, Diagnostics) {
        let world = self.project.world();
        let empty = EmptyModule {
            world,
            original_dir: self.project.original_dir().map(EcoString::from),
            workspace: self.project.workspace().into(),
        };
        let env = self.project.eval_env(&self.sources);
        let live = self.names.as_ref().and_then(|names| names.live.as_ref());
        let evaluation = self.names.as_ref().map(|names| {
            let mode = live.map_or(EvalMode::Values(&names.variables), EvalMode::Live);
            Evaluation::new(&names.loaded.tree, env, mode)
        });
        let module = evaluation.as_ref().map(|evaluation| match live {
            Some(live) => evaluation.scope_at(live, ModuleInstanceId::ROOT),
            None => evaluation.scope(ModuleId::ROOT),
        });
        let scope: &dyn Scope = match &module {
            Some(module) => module,
            None => &empty,
        };
        let libraries = self.names.as_ref().map(|names| &*names.loaded.tree.root().symbols);
        let context = CallContext {
            world: evaluation.as_ref().map_or(world, Evaluation::world),
            base_dir: ".",
            plan_time: None,
            pure_only: false,
            functions: FunctionTable::console(),
            others: module.as_ref().map(|module| module as &dyn OtherFunctions),
            template_depth: 0,
            sources: Some(&self.sources),
            symbols: libraries.map(SymbolScope::of_module),
        };
        let evaluate = || eval_expr(expr, scope, context);
        match &evaluation {
            Some(evaluation) => wait(evaluation.settle(evaluate)),
            None => evaluate(),
        }
    }
}

impl Names {
    /// References of an expression to variables without a value, because the given one is invalid.
    fn valueless_in(&self, expr: &Expr) -> Diagnostics {
        let mut problems = Diagnostics::new();
        each_traversal(expr, &mut |traversal| {
            let name = match traversal.steps.first() {
                Some(TraversalStep::Attr { name, .. }) if traversal.root == "var" => name,
                _ => return,
            };
            if self.valueless.contains(name) {
                problems.push(diagnostics::variable_without_value(name).at(traversal.span));
            }
        });
        problems
    }
}

/// Whether any module may have several instances, or none.
fn repeats_modules(tree: &ConfigTree) -> bool {
    tree.iter().filter_map(|(id, _)| tree.call(id)).any(|call| !matches!(call.repetition, Repetition::Single))
}

/// Values of all objects of a configuration, as far as its state knows them, and errors in their expressions. `values` are those
/// of the variables.
fn values_of(
    loaded: &Loaded,
    mut variables: BTreeMap<EcoString, RootVariable>,
    values: &BTreeMap<EcoString, Value>,
    state: &State,
) -> (Result<Diagnostics, Diagnostics>, Option<Live>) {
    let linked = loaded.linked();
    let references = linked.references();
    if state.is_empty() && !repeats_modules(&loaded.tree) {
        let (eval, inputs) = (linked.eval_env(), linked.inputs);
        let env = ValidateEnv { eval, references: &references, inputs, parallelism: PARALLELISM };
        return (wait(check_values(&loaded.tree, &env, values)), None);
    }
    add_unknown(&loaded.tree.root().module.variables, &mut variables);
    let (found, live) = Prepared::new(linked, variables, references, 1).look(state);
    (found, Some(live))
}

/// Lines of an expression that is not complete yet.
#[derive(Default)]
struct Pending {
    lines: Vec<String>,
    braces: i64,
    brackets: i64,
    parens: i64,
}

impl Pending {
    /// Adds a line. Returns a positive number if more lines are needed, a negative one if a bracket is closed that is not open.
    fn add(&mut self, line: &str) -> i64 {
        // A backslash at the end continues the expression on the next line; two of them are a literal backslash.
        let continues = line.ends_with('\\') && !line.ends_with("\\\\");
        let line = line.strip_suffix('\\').unwrap_or(line);
        if !line.is_empty() {
            self.lines.push(line.to_owned());
            // Quirk: each line is read for itself, so brackets inside a heredoc count too.
            for token in lex(line.as_bytes(), lexer::LexMode::Config) {
                match token.kind {
                    TokenKind::OpenBrace => self.braces += 1,
                    TokenKind::CloseBrace => self.braces -= 1,
                    TokenKind::OpenBracket => self.brackets += 1,
                    TokenKind::CloseBracket => self.brackets -= 1,
                    TokenKind::OpenParen => self.parens += 1,
                    TokenKind::CloseParen => self.parens -= 1,
                    _ => {}
                }
            }
        }
        if self.braces < 0 || self.brackets < 0 || self.parens < 0 {
            return -1;
        }
        i64::from(continues) + self.braces + self.brackets + self.parens
    }

    /// The text so far; what comes next starts afresh.
    fn take(&mut self) -> String {
        std::mem::take(self).lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use std::sync::Arc;
    use yuba_eval::MemoryWorld;

    use super::*;
    use crate::project::ProjectSettings;

    /// Feeds lines; each result is one line of text.
    fn check(lines: &str, expect: &Expect) {
        let world = MemoryWorld::new().with_file("a.txt", "text");
        let project = Project::new(ProjectSettings::bare("")).with_world(Arc::new(world));
        let mut session = ConsoleSession::new(project);
        let mut out = String::new();
        for line in lines.lines() {
            out += &match session.line(line) {
                Input::Incomplete(open) => format!("{} ", ".".repeat(open)),
                Input::Complete(ConsoleAnswer::Nothing) => "nothing\n".to_owned(),
                Input::Complete(ConsoleAnswer::Exit) => "exit\n".to_owned(),
                Input::Complete(ConsoleAnswer::Help) => "help\n".to_owned(),
                Input::Complete(ConsoleAnswer::Value(value, _)) => format!("{value:?}\n"),
                Input::Complete(ConsoleAnswer::Type(ty, _)) => format!("type {ty}\n"),
                Input::Complete(ConsoleAnswer::TypeOfType(_)) => "type of a type\n".to_owned(),
                Input::Complete(ConsoleAnswer::Failed(diagnostics)) => {
                    let summaries: Vec<_> = diagnostics.iter().map(|d| d.summary.as_str()).collect();
                    format!("! {}\n", summaries.join(" ! "))
                }
            };
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn lines_belong_together_while_brackets_are_open() {
        check(
            "1 +\n[\n1,\n{a = (\n2)}\n]\n\"[\"\n1 + \\\n2\n\\\nexit",
            &expect![[r#"
                ! Missing expression
                . . ... . tuple[1, {a=2}]
                "["
                . 3
                . exit
            "#]],
        );
    }

    #[test]
    fn a_bracket_too_many_is_an_error() {
        check(
            ")\n[\n1]",
            &expect![[r#"
                ! Invalid expression
                . tuple[1]
            "#]],
        );
    }

    #[test]
    fn commands() {
        check(
            "\n  \n help \n exit ",
            &expect![[r#"
                nothing
                nothing
                help
                exit
            "#]],
        );
    }

    #[test]
    fn types_are_shown_not_used() {
        check(
            "type([1, \"a\"])\ntype(sensitive(1))\n[type(1)]\nupper(type(1))\ntype(1) == type(1)\nplantimestamp()",
            &expect![[r#"
                type tuple([number,string])
                type number
                ! Invalid use of type function
                ! Invalid function argument
                ! Invalid use of type function
                ! Call to unknown function
            "#]],
        );
    }

    #[test]
    fn a_directory_without_configuration_has_few_names() {
        check(
            "path.module\npath.cwd\npath.foo\nterraform.workspace\ntofu.applying\nterraform.env\nvar.x\nvar\nlocal.x\n\
             count.index\neach.key\neach.value\nself.x\naws_x.y\ndata.x.y[0]\nmodule.m.o\ntry(foo.bar, 1)\nfoo\n\
             provider::a::f()\nprovider::f()\nfile(\"a.txt\")",
            &expect![[r#"
                "."
                "/work"
                ! Invalid "path" attribute
                "default"
                ephemeral:false
                ! Invalid "terraform" attribute
                ! Reference to undeclared input variable
                ! Invalid reference ! Reference to undeclared input variable
                ! Reference to undeclared local value
                ! Reference to "count" in non-counted context
                ! Reference to "each" in context without for_each
                ! each.value cannot be used in this context
                ! Invalid "self" reference
                ! Reference to undeclared resource
                ! Reference to undeclared resource
                ! Reference to undeclared module
                ! Reference to undeclared resource
                ! Invalid reference
                ! BUG: Uninitialized function provider
                ! Unable to parse provider function
                "text"
            "#]],
        );
    }
}
