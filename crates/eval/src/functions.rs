//! The function table: the pure functions, those that need the outside world, and those that look at expressions.

pub mod clock;
pub mod filesystem;
mod glob;
pub mod random;

use std::sync::LazyLock;

use foldhash::HashMap;
use foldhash::HashMapExt;
use yuba_syntax::Sources;
use yuba_value::function::{self, Function, Param, Signature, Text};
use yuba_value::{Mark, Type, Value};

use crate::symbols::SymbolScope;
use crate::world::{World, WorldTime};

/// Context of an impure function.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// The outside.
    pub world: &'a dyn World,
    /// The directory relative paths start from: the module's, as shown to the user (`.` for the root module).
    pub base_dir: &'a str,
    /// Start time of the plan, if any.
    pub plan_time: Option<WorldTime>,
    /// Unpredictable functions (`timestamp`, `uuid`, `bcrypt`) return unknown values: their calls are repeated later.
    pub pure_only: bool,
    /// The functions of the calling expression, for templates.
    pub functions: &'static FunctionTable,
    /// Functions that are not of the language: of providers.
    pub others: Option<&'a dyn OtherFunctions>,
    /// Number of enclosing template functions.
    pub template_depth: u32,
    /// The files of the expressions, for messages that name locations inside a string.
    pub sources: Option<&'a Sources>,
    /// The symbol libraries whose functions can be called.
    pub symbols: Option<SymbolScope<'a>>,
}

/// Functions that are not of the language, by their whole names: `provider::terraform::encode_expr`.
pub trait OtherFunctions {
    /// The interface of a function, or none if it does not exist.
    fn signature(&self, name: &str) -> Option<Signature>;
    /// Calls an existing function.
    fn call(&self, name: &str, args: &[Value]) -> function::Result;
}

/// Finds the type of the result from the arguments.
pub type WorldResultType = fn(&CallContext<'_>, &[Value]) -> function::Result<Type>;

/// Does the work; the last argument is the type that was promised.
pub type WorldBody = fn(&CallContext<'_>, &[Value], &Type) -> function::Result;

/// A function that needs the outside world.
#[derive(Clone, Debug)]
pub struct WorldFunction {
    /// Its interface.
    pub signature: Signature,
    /// Finds the result's type; `None` where it is always `signature.result`.
    pub result_type: Option<WorldResultType>,
    /// The result differs from call to call.
    pub unpredictable: bool,
    /// Does the work.
    pub body: WorldBody,
}

impl WorldFunction {
    /// A function whose result always has the same type and is never null.
    pub fn new(
        name: &'static str,
        description: &'static str,
        params: impl Into<Vec<Param>>,
        result: Type,
        body: WorldBody,
    ) -> WorldFunction {
        let params = params.into();
        let signature = Signature::new(name, description, params, result);
        WorldFunction { signature, result_type: None, unpredictable: false, body }
    }
    /// The parameter that takes all further arguments.
    #[must_use]
    pub fn variadic(mut self, param: Param) -> WorldFunction {
        self.signature.variadic = Some(param);
        self
    }
    /// The result's type depends on the arguments.
    #[must_use]
    pub fn typed(mut self, result_type: WorldResultType) -> WorldFunction {
        self.result_type = Some(result_type);
        self
    }
    /// The result may be null.
    #[must_use]
    pub fn nullable(mut self) -> WorldFunction {
        self.signature.never_null = false;
        self
    }
    /// The result differs from call to call.
    #[must_use]
    pub fn unpredictable(mut self) -> WorldFunction {
        self.unpredictable = true;
        self
    }
    /// Calls the function. Arguments must have been converted to the parameters' types.
    pub fn call(&self, context: &CallContext<'_>, args: &[Value]) -> function::Result {
        function::call(
            &self.signature,
            args,
            |args| match self.result_type {
                Some(result_type) => result_type(context, args),
                None => Ok(self.signature.result.clone()),
            },
            |args, ty| {
                if self.unpredictable && context.pure_only {
                    return Ok(Value::unknown(ty.clone()));
                }
                (self.body)(context, args, ty)
            },
        )
    }
}

/// One entry of the table.
#[derive(Clone, Debug)]
pub enum Builtin {
    /// A pure function.
    Pure(Function),
    /// A function that needs the outside world.
    World(WorldFunction),
    /// `can`: whether its expression evaluates.
    Can(Signature),
    /// `try`: the first expression that evaluates.
    Try(Signature),
}

impl Builtin {
    /// The interface.
    pub fn signature(&self) -> &Signature {
        match self {
            Builtin::Pure(f) => &f.signature,
            Builtin::World(f) => &f.signature,
            Builtin::Can(signature) | Builtin::Try(signature) => signature,
        }
    }
}

/// The functions an expression can call.
#[derive(Debug)]
pub struct FunctionTable {
    by_name: HashMap<Text, Builtin>,
}

impl FunctionTable {
    /// The functions of expressions in modules.
    pub fn module() -> &'static FunctionTable {
        static TABLE: LazyLock<FunctionTable> = LazyLock::new(FunctionTable::build);
        &TABLE
    }
    /// The functions of the console: with `type`, without `plantimestamp`.
    pub fn console() -> &'static FunctionTable {
        static TABLE: LazyLock<FunctionTable> = LazyLock::new(|| {
            let mut table = FunctionTable::build();
            table.by_name.remove("plantimestamp");
            table.by_name.insert("type".into(), Builtin::World(type_function()));
            table
        });
        &TABLE
    }

    /// The functions of expressions in symbol libraries: functions whose result depends only on the arguments.
    pub fn library() -> &'static FunctionTable {
        static TABLE: LazyLock<FunctionTable> = LazyLock::new(|| {
            let mut table = FunctionTable::build();
            table.by_name.retain(|name, f| !matches!(f, Builtin::World(_)) || *name == "templatestring");
            table
        });
        &TABLE
    }

    fn build() -> FunctionTable {
        let mut by_name = HashMap::new();
        for f in yuba_value::functions::all() {
            by_name.insert(f.signature.name.clone(), Builtin::Pure(f));
        }
        for f in filesystem::functions().into_iter().chain(clock::functions()).chain(random::functions()) {
            by_name.insert(f.signature.name.clone(), Builtin::World(f));
        }
        for f in crate::template::functions() {
            by_name.insert(f.signature.name.clone(), Builtin::World(f));
        }
        for special in [can(), try_()] {
            by_name.insert(special.signature().name.clone(), special);
        }
        FunctionTable { by_name }
    }

    /// The function of a name, plain or with the `core::` namespace.
    pub fn get(&self, name: &str) -> Option<&Builtin> {
        self.by_name.get(name.strip_prefix("core::").unwrap_or(name))
    }
    /// All names, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(AsRef::as_ref)
    }
    /// All functions, sorted by name.
    pub fn all(&self) -> Vec<&Builtin> {
        let mut all: Vec<&Builtin> = self.by_name.values().collect();
        all.sort_by(|a, b| a.signature().name.cmp(&b.signature().name));
        all
    }
}

/// `can`: looks at its expression, not at a value.
fn can() -> Builtin {
    Builtin::Can(Signature {
        never_null: false,
        ..Signature::new(
            "can",
            "Whether an expression can be evaluated without an error.",
            vec![Param::new("expression", Type::dynamic(), "The expression to evaluate.")],
            Type::bool(),
        )
    })
}

/// `try`: looks at its expressions, not at values.
fn try_() -> Builtin {
    Builtin::Try(Signature {
        variadic: Some(Param::new("expressions", Type::dynamic(), "The expressions to evaluate, in this order.")),
        never_null: false,
        ..Signature::new(
            "try",
            "The value of the first of several expressions that can be evaluated without an error.",
            Vec::new(),
            Type::dynamic(),
        )
    })
}

/// The console's `type`: a null of the argument's type, marked so that the console shows the type and that any other
/// use is found out. The type of such a value is the text "type" with the same mark.
fn type_function() -> WorldFunction {
    let value = Param::new("value", Type::dynamic(), "The value.");
    let value = value.null().unknown().dynamic().marked();
    WorldFunction::new("type", "The type of a value.", [value], Type::dynamic(), |_, args, _| {
        let value = args.first().cloned().unwrap_or_else(Value::null_dynamic);
        let answer = match value.marks().contains(&Mark::TypeText) {
            true => Value::string("type"),
            false => Value::null(value.ty().clone()),
        };
        Ok(answer.with_marks(&value.marks_deep()).mark(Mark::TypeText))
    })
    .nullable()
}
