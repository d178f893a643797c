//! The scripts that connect shells with the completion of the binary.

/// The shells that have a script.
pub(crate) const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

const BASH: &str = r#"# Completion of yuba in bash.
_yuba() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" YUBA_COMPLETE=bash "${1/#\~/$HOME}" "$@" 2>/dev/null)
}
complete -o nospace -F _yuba yuba
"#;

const ZSH: &str = r#"#compdef yuba
# Completion of yuba in zsh.
_yuba() {
    local -a complete open
    local ends text help binary=${${(Q)words[1]}/#\~/$HOME}
    while IFS=$'\t' read -r ends text help; do
        text=${text//\\/\\\\}
        text=${text//:/\\:}
        if [[ $ends == 1 ]]; then
            complete+=("$text${help:+:$help}")
        else
            open+=("$text${help:+:$help}")
        fi
    done < <(COMP_LINE="${(j: :)words[1,CURRENT-1]} $PREFIX" YUBA_COMPLETE=zsh "$binary" 2>/dev/null)
    local result=1
    (( $#complete )) && _describe -V 'yuba' complete && result=0
    (( $#open )) && _describe -V 'yuba' open -S '' && result=0
    return result
}
if [[ ${funcstack[1]} == _yuba ]]; then
    _yuba "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _yuba yuba
fi
"#;

const FISH: &str = r#"# Completion of yuba in fish.
function __yuba_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l binary (string replace --regex '^~' $HOME -- $words[1])
    set -lx COMP_LINE (commandline --cut-at-cursor --current-process | string collect)
    set -lx YUBA_COMPLETE fish
    $binary 2>/dev/null
end
complete --command yuba --no-files --keep-order --arguments '(__yuba_complete)'
"#;

/// The script of a shell.
pub(crate) fn script(shell: &str) -> Option<&'static str> {
    match shell {
        "bash" => Some(BASH),
        "zsh" => Some(ZSH),
        "fish" => Some(FISH),
        _ => None,
    }
}
