//! Consoles of frameworks, and tools that take source text in an option.

use super::Walker;
use super::arguments::Arguments;
use super::catalogue::Code;
use super::stand_in::after;
use super::value::Stream;
use crate::location;
use crate::verdict::Span;

/// Scripts that are consoles of frameworks.
const CONSOLES: &[&str] = &[
    "artisan",
    "console",
    "manage.py",
    "magento",
    "occ",
    "yii",
    "spark",
    "cake",
    "rails",
    "rake",
    "craft",
    "wp-cli.phar",
    "composer.phar",
    "drush",
    "drush.php",
    "rails.rb",
    "typo3",
];

/// Interpreters that are given such a script.
const INTERPRETERS: &[&str] = &["php", "python", "python3", "ruby", "node"];

impl Walker<'_> {
    /// Follows `php artisan …` and `python manage.py …` as the framework's program that the script
    /// starts.
    pub(super) fn console(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) {
        if INTERPRETERS.contains(&name)
            && let Some((script, _)) = args.operands().split_first()
            && CONSOLES.contains(&location::base_name(&script.text))
            && let Some(rest) = after(args.words(), &script.text)
        {
            let known = location::base_name(&script.text);
            let known = match known {
                "wp-cli.phar" => "wp",
                "composer.phar" => "composer",
                known => known,
            };
            let mut line = vec![script.saying(known)];
            line.extend(rest.iter().cloned());
            self.follow_command(line, stdin.clone());
            return;
        }
        let language = match (name, args.operand(0)) {
            ("artisan", Some("tinker")) | ("wp" | "drush", Some("shell" | "php" | "cli")) => {
                Code::Other
            }
            ("manage.py" | "flask" | "django" | "django-admin", Some("shell" | "shell_plus")) => {
                Code::Python
            }
            ("rails", Some("console" | "c")) => Code::Ruby,
            ("manage.py" | "django-admin" | "rails", Some("dbshell" | "dbconsole" | "db")) => {
                Code::Sql
            }
            _ => return,
        };
        for source in args.values(&["--execute", "-c", "--command"]) {
            let content = Stream::known(source.text.clone(), source.taint);
            self.follow_text(language, &content, source.span.or(span), &Stream::caller());
        }
        if !stdin.from_caller {
            self.follow_text(language, stdin, span, &Stream::empty());
        }
    }

    /// Follows `rake -e CODE`, `mix run -e CODE`, `just --command PROGRAM …`.
    pub(super) fn given_source_text(
        &mut self,
        name: &str,
        args: &Arguments<'_>,
        stdin: &Stream,
        span: Option<Span>,
    ) -> Option<Stream> {
        if name == "just" {
            let command = after(args.words(), "--command").or_else(|| after(args.words(), "-c"))?;
            return Some(self.follow_command(command.to_vec(), stdin.clone()));
        }
        let language = if name == "rake" { Code::Ruby } else { Code::Other };
        for source in args.values(&["-e", "-E", "--eval", "--execute", "--execute-continue"]) {
            let content = Stream::known(source.text.clone(), source.taint);
            self.follow_text(language, &content, source.span.or(span), stdin);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Context, Policy, Verdict, judge};

    #[test]
    fn what_a_console_is_fed_is_judged() {
        let verdict = |command: &str| {
            let action = Action::Shell { command: command.into(), cwd: None };
            judge(&action, &Policy::default(), &Context::default()).verdict
        };
        for command in [
            "rails runner 'Order.delete_all'",
            "echo 'Order.objects.all().delete()' | python manage.py shell",
            "php artisan tinker --execute='Order::truncate()'",
            "mix run -e 'Repo.delete_all(Order)'",
            "rake -e 'system(\"git push --force\")'",
        ] {
            assert!(verdict(command) >= Verdict::Confirm, "{command}");
        }
        for command in
            ["rails runner 'puts Order.count'", "php artisan migrate:status", "rake test"]
        {
            assert!(verdict(command) < Verdict::Confirm, "{command}");
        }
    }
}
