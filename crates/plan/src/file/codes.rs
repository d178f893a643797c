//! Codes of enum variants. The compiler reports a missing one.

use yuba_provider::Nesting;
use yuba_state::{CheckKind, CheckStatus};

use super::{Malformed, Read};
use crate::{Action, ActionReason, Mode};

/// Something that is one byte in a plan file.
pub(super) trait Code: Sized {
    fn code(self) -> u8;
    fn from_code(code: u8) -> Read<Self>;
}

/// Codes from 128 on stand for the one variant with a small number.
macro_rules! codes {
    ($type:ident { $($variant:ident = $code:literal),* $(,)? } $(numbered $numbered:ident)?) => {
        impl Code for $type {
            fn code(self) -> u8 {
                match self {
                    $($type::$variant => $code,)*
                    $($type::$numbered(number) => 128 | number.min(127),)?
                }
            }
            fn from_code(code: u8) -> Read<$type> {
                match code {
                    $($code => Ok($type::$variant),)*
                    $(128.. => Ok($type::$numbered(code & 127)),)?
                    _ => Err(Malformed),
                }
            }
        }
    };
}

codes!(Mode { Normal = 0, Destroy = 1, RefreshOnly = 2 });
codes!(Nesting { Single = 0, Group = 1, List = 2, Set = 3, Map = 4 });
codes!(CheckKind { Resource = 0, Output = 1, Check = 2, Variable = 3 });
codes!(CheckStatus { Unknown = 0, Pass = 1, Fail = 2, Error = 3 });
codes!(Action {
    NoOp = 0,
    Create = 1,
    Read = 2,
    Update = 3,
    DeleteThenCreate = 4,
    CreateThenDelete = 5,
    Delete = 6,
    Forget = 7,
    ForgetThenCreate = 8,
});
codes!(ActionReason {
    None = 0,
    ReplaceBecauseTainted = 1,
    ReplaceByRequest = 2,
    ReplaceByTriggers = 3,
    ReplaceBecauseCannotUpdate = 4,
    DeleteBecauseNoResourceConfig = 5,
    DeleteBecauseWrongRepetition = 6,
    DeleteBecauseCountIndex = 7,
    DeleteBecauseEachKey = 8,
    DeleteBecauseEnabledFalse = 9,
    DeleteBecauseNoModule = 10,
    DeleteBecauseNoMoveTarget = 12,
    ReadBecauseConfigUnknown = 13,
    ReadBecauseDependencyPending = 14,
    ReadBecauseCheckNested = 15,
    ForgotBecauseDestroyFalseInState = 16,
    ForgotBecauseDestroyFalseInConfig = 17,
} numbered DeleteBecauseModuleEnabledFalse);
