//! Commands in hints, as a POSIX shell reads them back.

use zipfold::internals::core::error::quoted;

/// The command that is running.
pub(crate) fn command() -> String {
    let words = std::env::args_os().map(|word| quoted(&word.to_string_lossy()));
    words.collect::<Vec<String>>().join(" ")
}

/// The command that is running, with `--resume`.
pub(crate) fn resuming() -> String {
    let mut words: Vec<String> = std::env::args_os()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    if !words.iter().any(|w| w == "--resume") {
        // Behind `--` it would be a name.
        let at = words.iter().position(|w| w == "--").unwrap_or(words.len());
        words.insert(at, "--resume".into());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let words = [
            "plain",
            "",
            "a b",
            "x[0]<y[0]",
            "a;touch x;.npy",
            "o'q.csv",
            "''",
            "$HOME",
            "`id`",
            "*",
            "~",
            "!x",
            "a\nb",
            "\\",
            "\"",
            "#",
            "é",
            "--pair=abs(x-y)",
            "{a,b}",
            "&",
            "|",
            "(",
            "\t",
            "a=b",
            "-",
        ];
        let line: Vec<String> = words.iter().map(|w| quoted(w)).collect();
        let script = format!("printf '%s\\0' {}", line.join(" "));
        let out = Command::new("sh").args(["-c", &script]).output().unwrap();
        let back: Vec<String> = String::from_utf8(out.stdout)
            .unwrap()
            .split('\0')
            .map(String::from)
            .collect();
        assert_eq!(&back[..words.len()], words);
        for c in (0u8..128)
            .map(char::from)
            .filter(|c| !c.is_ascii_alphanumeric())
        {
            let bare = "_./=:,@%+-".contains(c);
            assert_eq!(quoted(&format!("a{c}")).starts_with('\''), !bare, "{c:?}");
        }
    }
}
