//! Completion of an installed package in real shells, as a person uses it: the Tab key in bash and zsh, the engine of fish.

use std::path::Path;

/// A shell, and how it completes the word `worksp` after `yuba`.
pub(super) struct Shell {
    pub(super) name: &'static str,
    /// The script that a package contains, below its prefix. The second path is the one of Debian.
    pub(super) packaged: [&'static str; 2],
    /// A startup file below the home directory that `-install-autocomplete` changes if it exists.
    pub(super) startup: &'static str,
    /// Flags before the script.
    pub(super) flags: &'static [&'static str],
    /// Prints the completed word. `{load}` loads the completion.
    script: &'static str,
    /// Loads a script, whose path is `{path}` and its directory `{directory}`.
    load: &'static str,
    /// Loads the startup file.
    load_startup: &'static str,
}

pub(super) const SHELLS: [Shell; 3] = [
    Shell {
        name: "bash",
        packaged: ["share/bash-completion/completions/yuba", "share/bash-completion/completions/yuba"],
        startup: ".bashrc",
        flags: &["--norc", "-c"],
        script: "{load}; function=$(complete -p yuba | sed 's/.*-F \\([^ ]*\\).*/\\1/'); COMP_WORDS=(yuba worksp); COMP_CWORD=1; \
                 COMP_LINE='yuba worksp'; COMP_POINT=11; $function yuba worksp yuba; printf '%s\\n' \"${COMPREPLY[@]}\"",
        load: "source '{path}'",
        load_startup: "source ~/.bashrc",
    },
    Shell {
        name: "zsh",
        packaged: ["share/zsh/site-functions/_yuba", "share/zsh/vendor-completions/_yuba"],
        startup: ".zshrc",
        flags: &["-f", "-c"],
        // Ctrl-A is the start of the line: the completed words become arguments of `print`.
        script: "zmodload zsh/zpty; zpty shell zsh -f -i; zpty -w shell \"{load}\"; \
                 zpty -w shell $'yuba worksp\\t\\C-aprint -r -- \\C-e'; zpty -w shell exit; while zpty -r shell line; do print -rn -- $line; done",
        load: "fpath=('{directory}' \\$fpath); autoload -Uz compinit; compinit -u -D",
        load_startup: "source ~/.zshrc",
    },
    Shell {
        name: "fish",
        packaged: ["share/fish/vendor_completions.d/yuba.fish", "share/fish/vendor_completions.d/yuba.fish"],
        startup: ".config/fish/completions/yuba.fish",
        flags: &["--no-config", "-c"],
        script: "{load}; complete --do-complete 'yuba worksp'",
        load: "source '{path}'",
        load_startup: "source ~/.config/fish/completions/yuba.fish",
    },
];

impl Shell {
    /// The script of a package that is installed below a prefix.
    pub(super) fn installed(&self, prefix: &Path) -> Option<std::path::PathBuf> {
        self.packaged.iter().map(|path| prefix.join(path)).find(|path| path.is_file())
    }

    /// A command that completes with a script.
    pub(super) fn with_script(&self, path: &Path) -> String {
        let directory = path.parent().unwrap_or(path);
        let load = self.load.replace("{path}", &path.display().to_string());
        self.script.replace("{load}", &load.replace("{directory}", &directory.display().to_string()))
    }

    /// A command that completes with the startup file.
    pub(super) fn with_startup_file(&self) -> String {
        self.script.replace("{load}", self.load_startup)
    }
}
