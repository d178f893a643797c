//! Queries: resource instances of a state, filtered and projected with expressions.
//!
//! Each object of the state is a row. Its names are those of [`NAMES`]; `values` are the attributes, which are decoded only for expressions
//! that read them. With the schema of the provider, attributes have their types and sensitive ones are marked. Without it they have
//! the types that their JSON suggests, and all of them are marked as sensitive.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{InstanceKey, ProviderSource, ResourceMode};
use yuba_eval::references::each_traversal;
use yuba_eval::{CallContext, FunctionTable, Variables, World, evaluate};
use yuba_provider::{ProviderSchema, Providers};
use yuba_state::{DeposedKey, Object, Resource, State, Status};
use yuba_syntax::expr::{BinaryOp, ExprKind};
use yuba_syntax::lexer::{LexMode, lex};
use yuba_syntax::parser::parse_expression;
use yuba_syntax::suggestion::closest;
use yuba_syntax::token::TokenKind;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, SourceFile, Sources, Traversal};
use yuba_value::convert::convert;
use yuba_value::{Mark, Type, Value};

use crate::backend::Refusal;

mod diagnostics;

/// Names that expressions can refer to.
pub const NAMES: [&str; 12] = [
    "address",
    "module",
    "mode",
    "type",
    "name",
    "key",
    "provider",
    "provider_key",
    "deposed",
    "status",
    "dependencies",
    "values",
];

/// A filter and columns.
pub struct Query {
    /// Terms of a conjunction; those that do not read attributes first.
    terms: Vec<Term>,
    columns: Vec<Column>,
    sources: Sources,
}

struct Term {
    expr: Expr,
    reads_values: bool,
}

/// A projected value.
struct Column {
    title: String,
    expr: Expr,
}

/// Effect of an expression that cannot be evaluated for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unevaluated {
    /// It does not match; a column is null.
    Skipped,
    /// The query fails.
    Failed,
}

/// Whether sensitive values are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// They are.
    Marked,
    /// They are not: the user wants to see them.
    Plain,
}

/// The result of a query.
#[derive(Debug, Default)]
pub struct QueryResult {
    /// Titles of the columns.
    pub columns: Vec<String>,
    /// Values of the columns for each match, in the order of the state.
    pub rows: Vec<Vec<Value>>,
    /// Number of objects for which the filter could not be evaluated, and the first error with the address.
    pub skipped: usize,
    /// The first of these errors.
    pub first_skipped: Option<Diagnostic>,
    /// Providers whose schemas are required to find out which attributes are sensitive, and are not available.
    pub without_schema: BTreeSet<ProviderSource>,
}

impl Query {
    /// Reads the expressions. Without a filter everything matches. Fails where one is invalid or refers to an unknown name.
    pub fn parse(filter: Option<&str>, columns: &str) -> Result<Query, Refusal> {
        let mut sources = Sources::new();
        let mut problems = Diagnostics::new();
        let mut read = |name: &str, text: &str| {
            let file = sources.add(SourceFile::new(name, text.as_bytes()));
            let (expr, found) = parse_expression(file, text.as_bytes());
            let is_readable = !found.has_errors();
            problems.extend(found);
            if is_readable {
                problems.extend(unknown_names(&expr));
            }
            expr
        };
        let mut terms = Vec::new();
        if let Some(text) = filter {
            conjunction(read("<query>", text), &mut terms);
        }
        let columns = split_columns(columns).into_iter();
        let columns: Vec<Column> =
            columns.map(|text| Column { expr: read("<columns>", text), title: text.to_owned() }).collect();
        if problems.has_errors() {
            return Err(Refusal { problems, sources });
        }
        if columns.is_empty() {
            return Err(diagnostics::no_columns().into());
        }
        // The order does not change the result: a false term decides, regardless of the remaining terms.
        terms.sort_by_key(|term: &Term| term.reads_values);
        Ok(Query { terms, columns, sources })
    }

    /// Applies the query to a state.
    pub fn run(
        &self,
        state: &State,
        providers: &dyn Providers,
        world: &dyn World,
        unevaluated: Unevaluated,
        secrets: Secrets,
    ) -> Result<QueryResult, Refusal> {
        let schemas = Schemas { providers, known: RefCell::default(), missing: RefCell::default() };
        let context = CallContext {
            world,
            base_dir: ".",
            plan_time: None,
            pure_only: false,
            functions: FunctionTable::module(),
            others: None,
            template_depth: 0,
            sources: Some(&self.sources),
            symbols: None,
        };
        let columns = self.columns.iter().map(|column| column.title.clone()).collect();
        let mut result = QueryResult { columns, ..QueryResult::default() };
        for (resource, key, deposed, object) in objects(state) {
            let row = Row { resource, key, deposed, object, schemas: &schemas, values: OnceCell::new() };
            match self.matches(&row, context) {
                Ok(false) => {}
                Ok(true) => {
                    let cells = self.columns.iter().map(|column| {
                        let (value, problems) = evaluate(&column.expr, &row, context);
                        match problems.has_errors() {
                            false => Ok(if secrets == Secrets::Plain { value.unmark_deep().0 } else { value }),
                            true if unevaluated == Unevaluated::Failed => Err(self.failed(&row, problems)),
                            true => Ok(Value::null(Type::dynamic())),
                        }
                    });
                    result.rows.push(cells.collect::<Result<_, _>>()?);
                }
                Err(problems) if unevaluated == Unevaluated::Failed => return Err(self.failed(&row, problems)),
                Err(problems) => {
                    result.skipped += 1;
                    if result.first_skipped.is_none() {
                        result.first_skipped = problems
                            .into_iter()
                            .find(Diagnostic::is_error)
                            .map(|problem| Diagnostic { address: Some(row.address()), ..problem });
                    }
                }
            }
        }
        if secrets == Secrets::Marked && self.columns.iter().any(|column| reads_values(&column.expr)) {
            result.without_schema = schemas.missing.into_inner();
        }
        Ok(result)
    }

    /// The expressions, for rendering diagnostics.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    fn failed(&self, row: &Row<'_>, problems: Diagnostics) -> Refusal {
        let at = |problem| Diagnostic { address: Some(row.address()), ..problem };
        let mut placed = Diagnostics::new();
        placed.extend(problems.into_iter().map(at));
        Refusal { problems: placed, sources: self.sources.clone() }
    }

    /// Whether all terms are true. An error counts only if no term is false.
    fn matches(&self, row: &Row<'_>, context: CallContext<'_>) -> Result<bool, Diagnostics> {
        let mut failed = Diagnostics::new();
        let mut result = true;
        for term in &self.terms {
            let (value, problems) = evaluate(&term.expr, row, context);
            if problems.has_errors() {
                failed.extend(problems);
                continue;
            }
            let value = value.unmark_deep().0;
            match convert(&value, &Type::bool()) {
                Ok(value) => match value.as_bool() {
                    Some(false) => return Ok(false),
                    Some(true) => {}
                    // Null and unknown values are not true.
                    None => result = false,
                },
                Err(_) => failed.push(diagnostics::not_boolean(value.ty(), term.expr.span)),
            }
        }
        match failed.has_errors() {
            true => Err(failed),
            false => Ok(result),
        }
    }
}

/// All objects of a state with their resource, instance key and deposed key.
fn objects(state: &State) -> impl Iterator<Item = (&Resource, Option<&InstanceKey>, Option<&DeposedKey>, &Object)> {
    state.iter().flat_map(|resource| {
        resource.instances.iter().flat_map(move |(key, instance)| {
            instance.objects().map(move |(deposed, object)| (resource, key.as_ref(), deposed, &**object))
        })
    })
}

/// Takes `a && b` apart.
fn conjunction(expr: Expr, terms: &mut Vec<Term>) {
    match expr.kind {
        ExprKind::Binary(binary) if binary.op == BinaryOp::And => {
            let binary = *binary;
            conjunction(binary.left, terms);
            conjunction(binary.right, terms);
        }
        ExprKind::Parens(inner) => conjunction(*inner, terms),
        kind => {
            let expr = Expr { kind, span: expr.span };
            terms.push(Term { reads_values: reads_values(&expr), expr });
        }
    }
}

fn reads_values(expr: &Expr) -> bool {
    let mut reads = false;
    each_traversal(expr, &mut |traversal| reads |= traversal.root == "values");
    reads
}

fn unknown_names(expr: &Expr) -> Diagnostics {
    let mut problems = Diagnostics::new();
    each_traversal(expr, &mut |traversal| {
        if !NAMES.contains(&traversal.root.as_str()) {
            problems.push(diagnostics::name_unknown(
                &traversal.root,
                closest(&traversal.root, NAMES),
                traversal.root_span,
            ));
        }
    });
    problems
}

/// Splits a list at commas that are not inside brackets or quotes.
fn split_columns(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut open) = (0, 0_i32);
    for token in lex(text.as_bytes(), LexMode::Expression) {
        match token.kind {
            TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace => open += 1,
            TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => open -= 1,
            TokenKind::Comma if open == 0 => {
                parts.push(&text[start..token.start as usize]);
                start = token.end as usize;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Schemas of providers, each requested once.
struct Schemas<'p> {
    providers: &'p dyn Providers,
    known: RefCell<BTreeMap<ProviderSource, Option<Arc<ProviderSchema>>>>,
    missing: RefCell<BTreeSet<ProviderSource>>,
}

impl Schemas<'_> {
    fn get(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        if let Some(known) = self.known.borrow().get(provider) {
            return known.clone();
        }
        let schema = self.providers.schema(provider);
        self.known.borrow_mut().insert(provider.clone(), schema.clone());
        schema
    }
}

/// One object with the names that lead to it.
struct Row<'s> {
    resource: &'s Resource,
    key: Option<&'s InstanceKey>,
    deposed: Option<&'s DeposedKey>,
    object: &'s Object,
    schemas: &'s Schemas<'s>,
    values: OnceCell<Value>,
}

impl Row<'_> {
    fn address(&self) -> EcoString {
        let addr = self.resource.addr.clone().instance(self.key.cloned());
        ecow::eco_format!("{addr}")
    }

    /// The attributes, marked where they are sensitive.
    fn values(&self) -> Value {
        self.values.get_or_init(|| self.typed().unwrap_or_else(|| self.untyped())).clone()
    }

    fn typed(&self) -> Option<Value> {
        let schema = self.schemas.get(&self.resource.provider.provider)?;
        let schema = match self.resource.addr.resource.mode {
            ResourceMode::Managed => &schema.resources,
            ResourceMode::Data => &schema.data,
            ResourceMode::Ephemeral => &schema.ephemeral,
        };
        let schema = schema.get(&self.resource.addr.resource.kind)?;
        if schema.version != self.object.schema_version {
            return None;
        }
        let value = self.object.decode(schema.block.implied_type()).ok()?;
        Some(schema.block.mark(&value, None))
    }

    fn untyped(&self) -> Value {
        self.schemas.missing.borrow_mut().insert(self.resource.provider.provider.clone());
        let value = self.object.decode_implied().unwrap_or_else(|_| Value::null(Type::dynamic()));
        value.mark(Mark::Sensitive)
    }

    fn get(&self, name: &str) -> Option<Value> {
        let local = &self.resource.addr.resource;
        Some(match name {
            "address" => Value::string(self.address()),
            "module" => Value::string(self.resource.addr.module.to_string()),
            "mode" => Value::string(match local.mode {
                ResourceMode::Managed => "managed",
                ResourceMode::Data => "data",
                ResourceMode::Ephemeral => "ephemeral",
            }),
            "type" => Value::string(local.kind.clone()),
            "name" => Value::string(local.name.clone()),
            "key" => key_value(self.key),
            "provider" => Value::string(self.resource.provider.provider.to_string()),
            "provider_key" => {
                let instance = self.resource.instances.get(&self.key.cloned());
                key_value(instance.and_then(|instance| instance.provider_key.as_ref()))
            }
            "deposed" => self.deposed.map_or_else(null_string, |key| Value::string(key.as_str())),
            "status" => Value::string(match self.object.status {
                Status::Ready => "ready",
                Status::Tainted => "tainted",
            }),
            "dependencies" => {
                let all = self.object.dependencies.iter().map(|one| Value::string(one.to_string()));
                Value::list(Type::string(), all.collect())
            }
            "values" => self.values(),
            _ => return None,
        })
    }
}

fn null_string() -> Value {
    Value::null(Type::string())
}

fn key_value(key: Option<&InstanceKey>) -> Value {
    match key {
        None => Value::null(Type::dynamic()),
        Some(InstanceKey::Int(index)) => Value::int(*index),
        Some(InstanceKey::String(name)) => Value::string(name.clone()),
    }
}

impl Variables for Row<'_> {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        Row::get(self, &traversal.root).map(|value| (value, 0))
    }
    fn names(&self) -> Vec<EcoString> {
        NAMES.iter().map(|name| EcoString::from(*name)).collect()
    }
}
