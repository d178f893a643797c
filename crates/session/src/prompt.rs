//! Prompts while `init` sets up a backend: the caller shows them and reads the lines that the user enters.

use yuba_syntax::Diagnostic;

use crate::backend::diagnostics;

/// Prompts the user for a line. Fails with `EOF` or `interrupted`.
pub type Prompt = dyn Fn(&Question<'_>) -> Result<String, String>;

/// A question to the user.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// Its title.
    pub query: &'q str,
    /// More about it, of one or several lines; empty if there is no more.
    pub description: &'q str,
    /// Whether a terminal shows the input.
    pub typing: Typing,
}

/// Whether a terminal shows what the user types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    /// It does.
    Shown,
    /// It does not: the input is a credential.
    Hidden,
}

/// Reason for a prompt without a response.
pub(crate) enum Unanswered {
    /// Prompts are disabled.
    Disabled,
    /// The prompt failed.
    Failed(String),
}

impl Unanswered {
    /// The reason, as the end of a title.
    pub(crate) fn reason(&self) -> String {
        match self {
            Unanswered::Disabled => "input is disabled".to_owned(),
            Unanswered::Failed(reason) => format!("Error asking for confirmation: {reason}"),
        }
    }

    /// As an error about a state that is to be copied.
    pub(crate) fn about_copying(&self) -> Diagnostic {
        match self {
            Unanswered::Disabled => diagnostics::migration_not_confirmed(),
            Unanswered::Failed(_) => diagnostics::not_answered(&self.reason()),
        }
    }
}

/// Asks a yes-or-no question. After two invalid responses it returns false.
pub(crate) fn confirmed(prompt: Option<&Prompt>, query: &str, description: &str) -> Result<bool, Unanswered> {
    let Some(prompt) = prompt else { return Err(Unanswered::Disabled) };
    for _ in 0..2 {
        let question = Question { query, description, typing: Typing::Shown };
        let line = prompt(&question).map_err(Unanswered::Failed)?;
        match line.trim_end().to_lowercase().as_str() {
            "yes" => return Ok(true),
            "no" => return Ok(false),
            _ => {}
        }
    }
    Ok(false)
}
