//! Functions that are handed to other functions, and called there.

use super::{Args, Runner};
use crate::analyze::code::script::api::{self, Effect};
use crate::analyze::code::script::value::{Shape, Value};
use crate::verdict::Span;

/// The number of items of a list that are handed on as arguments.
const MOST_ITEMS: usize = 16;

impl Runner<'_> {
    /// Follows library functions passed to an unknown function: called with its other arguments,
    /// those after it or, if there are none, the lists and texts before it.
    pub(super) fn call_given(&mut self, args: &Args, span: Option<Span>) {
        let given: Vec<Value> = args.list.iter().map(|arg| arg.value.clone()).collect();
        for (at, value) in given.iter().enumerate() {
            if !self.is_acting(value) {
                continue;
            }
            let after = spread(given.iter().skip(at + 1));
            let before = || {
                let earlier = given.iter().take(at);
                spread(
                    earlier.filter(|value| matches!(value.shape, Shape::List(_) | Shape::Text(_))),
                )
            };
            let more = if after.is_empty() { before() } else { after };
            if !more.is_empty() {
                self.call(value, &Args::of(more), span);
            }
        }
    }

    /// Follows a function that is called later or elsewhere: `Thread(target=f, args=(x,))`,
    /// `Timer(5, f, [x])`, `start_new_thread(f, (x,))`.
    pub(super) fn call_later(&mut self, args: &Args, span: Option<Span>) {
        let named = ["target", "function"].iter().find_map(|name| args.named(name));
        let place = args.positional().position(|value| self.is_function(value));
        let target = named.or_else(|| place.map(|place| args.at(place)));
        let after = args.skip(place.map_or(1, |place| place + 1));
        let given = args.named("args").map_or_else(
            || Args::of(spread(after.positional())),
            |given| Args::of(given.items().unwrap_or_default().to_vec()),
        );
        if let Some(target) = target {
            self.call(&target, &given, span);
        }
    }

    /// Follows methods of pools and loops that call the function they are given.
    pub(super) fn handed_over(
        &mut self,
        name: &str,
        args: &Args,
        span: Option<Span>,
    ) -> Option<Value> {
        let function = args.at(0);
        match name {
            "starmap" | "starmap_async" if self.is_function(&function) => {
                Some(self.mapped_spread(&args.at(1), &function, span))
            }
            "apply_async" | "apply" if self.is_function(&function) => {
                self.call_later(args, span);
                Some(Value::unknown())
            }
            "submit" | "call_soon" | "register"
                if matches!(function.shape, Shape::Closure(..) | Shape::Api(_)) =>
            {
                Some(self.call(&function, &args.skip(1), span))
            }
            _ => None,
        }
    }

    /// Follows library functions that a function of the language calls for each item of a list:
    /// `filter(os.remove, files)`, `sorted(files, key=os.remove)`.
    pub(super) fn applied_to_items(&mut self, args: &Args) {
        let values = || args.list.iter().map(|arg| &arg.value);
        let Some(function) = values().find(|value| self.is_acting(value)).cloned() else { return };
        let list = values().find(|value| !self.is_function(value)).cloned();
        if let Some(list) = list {
            self.mapped(&list, &function);
        }
    }

    /// Applies a function to every item, whose own items are its arguments.
    pub(super) fn mapped_spread(
        &mut self,
        list: &Value,
        function: &Value,
        span: Option<Span>,
    ) -> Value {
        for item in list.items().unwrap_or(std::slice::from_ref(list)).iter().take(MOST_ITEMS) {
            let given = item.items().map_or_else(|| vec![item.clone()], <[Value]>::to_vec);
            self.call(function, &Args::of(given), span);
        }
        Value::unknown()
    }

    /// Reports whether a value is a function of this source, or of a library that is known.
    pub(super) fn is_function(&self, value: &Value) -> bool {
        match &value.shape {
            Shape::Closure(..) => true,
            Shape::Api(name) => api::effect(self.language, name).is_some(),
            _ => false,
        }
    }

    /// Reports whether a value is a library function that runs, deletes or changes something.
    fn is_acting(&self, value: &Value) -> bool {
        match &value.shape {
            Shape::Api(name) => api::effect(self.language, name).is_some_and(acts),
            _ => false,
        }
    }
}

/// Returns values, with the items of a list instead of the list.
fn spread<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for value in values {
        match value.items() {
            Some(items) => all.extend(items.iter().take(MOST_ITEMS).cloned()),
            None => all.push(value.clone()),
        }
    }
    all
}

/// Reports whether an effect runs, deletes or changes something.
const fn acts(effect: Effect) -> bool {
    matches!(
        effect,
        Effect::Shell
            | Effect::Spawn
            | Effect::Program
            | Effect::SpawnMode
            | Effect::Terminal
            | Effect::Delete
            | Effect::DeleteTree
            | Effect::Move
            | Effect::Copy
            | Effect::Write
            | Effect::Append
            | Effect::Chmod
            | Effect::ChmodLast
            | Effect::Chown
            | Effect::ChownLast
            | Effect::Link
            | Effect::Kill
            | Effect::Eval
            | Effect::RunFile
    )
}

#[cfg(test)]
mod tests {
    use crate::Verdict;
    use crate::example::verdict_of;

    #[test]
    fn a_function_handed_over_is_called_with_what_it_is_handed() {
        for source in [
            "python: import os\nlist(filter(os.remove, ['/etc/hosts']))",
            "python: import os\nmax(['/etc/hosts'], key=os.unlink)",
            "python: import os, itertools\nlist(itertools.starmap(os.rename, [('/etc/hosts', 'x')]))",
            "python: import shutil, threading\nthreading.Timer(1, shutil.rmtree, ['/etc']).start()",
            "python: import _thread, os\n_thread.start_new_thread(os.system, ('rm -rf ~',))",
            "python: import os, joblib\njoblib.later(os.rename, '/etc/hosts', 'x')",
            "python: import os, some\nsome.each(['/etc/hosts'], os.remove)",
            "python: import os, pools\npools.new().starmap(os.rename, [('/etc/hosts', 'x')])",
            "ruby: FileUtils.method(:rm_rf).to_proc.call('/etc')",
            "ruby: FileUtils.method(:rm_rf).curry.call('/etc')",
            "ruby: Pathname.glob('/etc/*').each(&:delete)",
            "perl: use File::Find; find({ wanted => sub { unlink $_ } }, '/etc');",
        ] {
            assert!(verdict_of(source) >= Verdict::Confirm, "{source}");
        }
    }

    #[test]
    fn a_function_that_changes_nothing_may_be_handed_over() {
        for source in [
            "python: import os\nprint(sorted(['b', 'a'], key=os.path.basename))",
            "python: print(list(filter(None, ['a', ''])), max([1, 2], key=abs))",
            "python: import os\nlist(map(os.remove, ['build/a.o']))",
            "python: import threading\nthreading.Timer(1, print, ['x']).start()",
            "ruby: puts [1, 2].map(&12.method(:+)).inspect",
        ] {
            assert!(verdict_of(source) <= Verdict::Warn, "{source}");
        }
    }
}
