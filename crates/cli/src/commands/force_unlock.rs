//! `yuba force-unlock`: removes a lock that another process did not release.

use yuba_session::backend::{Refusal, StateFlags};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "force-unlock",
    synopsis: "Release a stuck lock on the current workspace",
    usage: "[options] LOCK_ID",
    about: "Removes the lock of the state that another process did not release. Make sure that the process has ended: two \
            processes that change the state at the same time can damage it.\n\n\
            The lock of a local state ends with the process that acquired it. The next command takes over the lock file of \
            a process that has ended.",
    flags: &[Flag::switch("force", "Do not prompt for approval."), JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba force-unlock`.
struct ForceUnlockSettings {
    lock_id: String,
    approval: Approval,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

/// Whether the user must approve the removal of a lock.
#[derive(PartialEq, Eq)]
enum Approval {
    Prompt,
    /// `-force`
    Given,
}

impl ForceUnlockSettings {
    fn resolve(args: &Args) -> Result<ForceUnlockSettings, Failure> {
        let [id] = args.positional.as_slice() else { return Err(Failure::usage(diagnostics::lock_id_expected())) };
        Ok(ForceUnlockSettings {
            lock_id: id.clone(),
            approval: if args.is_on("force") { Approval::Given } else { Approval::Prompt },
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ForceUnlockSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = unlock(&mut messages, &settings);
    messages.conclude(done)
}

fn unlock(messages: &mut Messages<'_>, settings: &ForceUnlockSettings) -> Result<(), Refusal> {
    let location = state_access::location(&settings.project, &settings.state)?;
    location.check_locks()?;
    if settings.approval == Approval::Prompt {
        if location.is_file() {
            return Err(diagnostics::local_lock_not_removable().into());
        }
        let question = "Do you really want to force-unlock?";
        let more = "Other processes can then change the state, even if the process that locked it is still running.\n  Only \
                    'yes' will be accepted to confirm.";
        match messages.confirm(question, more) {
            Ok(true) => {}
            Ok(false) => {
                messages.tell("force-unlock cancelled.");
                return Err(Refusal::default());
            }
            Err(reason) => return Err(diagnostics::not_confirmed(&reason).into()),
        }
    }
    location.unlock(&settings.lock_id)?;
    let title = "The state has been successfully unlocked!";
    let more = "Other commands can lock it again now.";
    let human = format!("{}\n\n{more}\n", messages.bold(title));
    messages.say(&human, &format!("{title} {more}"));
    Ok(())
}
