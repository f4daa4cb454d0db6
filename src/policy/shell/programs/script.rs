//! Programs that an interpreter is given by name: `python -m twine`, `php artisan`, `sh ./gradlew`.

use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::{Known, program};

impl Walker<'_> {
    /// Judges the module or the script that an interpreter runs, where the table knows it by its name.
    pub(super) fn named_script(&mut self, known: &Known<'_>, me: usize) {
        let module = known.args.flags.iter().find(|f| f.name == "-m").and_then(|f| f.value.clone());
        let at = match &module {
            Some((_, at)) => *at,
            None => match known.args.operands.first() {
                Some(at) => *at,
                None => return,
            },
        };
        let mut argv = known.argv[at..].to_vec();
        let name = module.map_or_else(|| program(&argv[0].text), |(name, _)| name.to_lowercase());
        if self.table.command(&name).is_none() {
            return;
        }
        argv[0].text = name;
        let span = argv[0].span.clone();
        let from = self.invocations.len();
        self.deeper(&span, |w| w.subshell(|w| w.invoke(argv, None, Some((me, at)))));
        // The words are those of the interpreter: a rule for it covers them.
        for inner in self.invocations.iter_mut().skip(from) {
            inner.quiet = true;
        }
        self.current = Some(me);
    }
}
