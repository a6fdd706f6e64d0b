//! Ways in which edits are made, and what must come of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use refspan::model::{Edit, Error, Verb};
use refspan::store::{Durability, Live, Options, Placement, Transaction};
use tempfile::TempDir;

use super::repository::{Template, Values, copy_tree, directory, loose, packed};
use super::{Faults, count_calls};

/// A way in which the edits are made.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) placement: Placement,
    pub(crate) durability: Durability,
    /// Added to the configuration.
    config: &'static str,
    has_header: bool,
    /// So many packed refs more, of 1 KiB each: the new file may be so large that another thread writes it.
    more: usize,
}

const USUAL: Scenario = Scenario {
    name: "",
    placement: Placement::Loose,
    durability: Durability::Full,
    config: "",
    has_header: true,
    more: 0,
};

pub(crate) const LOOSE_FULL: Scenario = Scenario { name: "loose, full", ..USUAL };
pub(crate) const PACKED_FULL: Scenario = Scenario { name: "packed, full", placement: Placement::Packed, ..USUAL };
pub(crate) const LOOSE_GIT: Scenario = Scenario {
    name: "loose, as git, which syncs",
    durability: Durability::Git,
    config: "[core]\n\tfsync = reference\n",
    ..USUAL
};
pub(crate) const PACKED_GIT: Scenario = Scenario {
    name: "packed, as git, without a header before",
    placement: Placement::Packed,
    durability: Durability::Git,
    has_header: false,
    ..USUAL
};
pub(crate) const LOOSE_NOTHING: Scenario = Scenario {
    name: "loose, nothing, without a header before",
    durability: Durability::Nothing,
    has_header: false,
    ..USUAL
};
pub(crate) const PACKED_NOTHING: Scenario =
    Scenario { name: "packed, nothing", placement: Placement::Packed, durability: Durability::Nothing, ..USUAL };
pub(crate) const SHARED: Scenario =
    Scenario { name: "loose, full, shared", config: "[core]\n\tsharedRepository = world\n", ..USUAL };
pub(crate) const LARGE: Scenario =
    Scenario { name: "packed, full, large", placement: Placement::Packed, more: 1_200, ..USUAL };

pub(crate) const SCENARIOS: [Scenario; 8] =
    [LOOSE_FULL, PACKED_FULL, LOOSE_GIT, PACKED_GIT, LOOSE_NOTHING, PACKED_NOTHING, SHARED, LARGE];

/// Everything about a scenario that is the same in each of its runs.
pub(crate) struct Case<'a> {
    template: &'a Template,
    pub(crate) scenario: &'a Scenario,
    pub(crate) edits: Vec<Edit>,
    pub(crate) old: Values,
    pub(crate) new: Values,
    /// What packed-refs may hold, from first to last.
    pub(crate) packed: Vec<String>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(template: &'a Template, scenario: &'a Scenario) -> Self {
        let mut edits = template.edits();
        if scenario.more > 0 {
            // Each call takes long: with fewer of them there is time for all.
            edits.retain(|edit| edit.name.starts_with(b"refs/heads/both/"));
        }
        let (loose, mut packed) = (loose(template.path()), packed(template.path()));
        for number in 0..scenario.more {
            packed
                .insert(format!("refs/more/{number:06}-{}", "long".repeat(250)), template.commits[number % 4].clone());
        }
        let mut old = packed.clone();
        old.extend(loose.clone());
        let mut first = template.packed_refs(&packed);
        if !scenario.has_header {
            let is_record = |line: &&str| !line.starts_with(['#', '^']);
            first = first.split_inclusive('\n').filter(is_record).collect();
        }
        let mut texts = vec![first];
        let changed = || edits.iter().filter(|edit| edit.verb != Verb::Verify);
        let name = |edit: &Edit| String::from_utf8(edit.name.clone()).unwrap();
        let is_packed = scenario.placement == Placement::Packed;
        if is_packed {
            packed.extend(
                changed().filter_map(|edit| loose.get_key_value(&name(edit))).map(|(a, b)| (a.clone(), b.clone())),
            );
            texts.push(template.packed_refs(&packed));
        }
        let mut new = old.clone();
        for edit in changed() {
            match edit.new {
                Some(oid) => drop(new.insert(name(edit), oid.to_hex())),
                None => drop((new.remove(&name(edit)), packed.remove(&name(edit)))),
            }
            if is_packed && let Some(oid) = edit.new {
                packed.insert(name(edit), oid.to_hex());
            }
        }
        texts.push(template.packed_refs(&packed));
        Self { template, scenario, edits, old, new, packed: texts }
    }

    /// A copy of the repository, below a directory of its own.
    pub(crate) fn repository(&self) -> (TempDir, PathBuf) {
        let dir = directory();
        let repo = dir.path().join("repo.git");
        let template = self.template.path();
        copy_tree(&template.join("refs"), &repo.join("refs"));
        fs::create_dir_all(repo.join("objects/info")).unwrap();
        fs::write(repo.join("objects/info/alternates"), format!("{}\n", template.join("objects").display())).unwrap();
        fs::copy(template.join("HEAD"), repo.join("HEAD")).unwrap();
        let config = fs::read_to_string(template.join("config")).unwrap() + self.scenario.config;
        fs::write(repo.join("config"), config).unwrap();
        fs::write(repo.join("packed-refs"), &self.packed[0]).unwrap();
        // Never older than its successor: that one is always given a later time.
        let packed = fs::File::options().write(true).open(repo.join("packed-refs")).unwrap();
        packed.set_modified(SystemTime::now() + Duration::from_secs(100)).unwrap();
        (dir, repo)
    }

    /// Makes the edits; the error of preparing comes with `true`. Calls are counted and may fail meanwhile.
    pub(crate) fn run(&self, repo: &Path, _: &Faults, prepared: impl FnOnce()) -> Result<(), (bool, Error)> {
        let live = Arc::new(Live::open(Some(repo), None).unwrap());
        let options = Options {
            placement: self.scenario.placement,
            durability: self.scenario.durability,
            patience: None,
            checks_objects: true,
            is_atomic: true,
        };
        let mut transaction = Transaction::new(live, options);
        transaction.apply(self.edits.clone(), &mut || true).unwrap();
        count_calls(true);
        let done = transaction.prepare(&mut || true).map_err(|error| (true, error)).and_then(|()| {
            prepared();
            transaction.commit().map_err(|error| (false, error))
        });
        drop(transaction);
        count_calls(false);
        done
    }

    /// Checks what must be true whatever happened, and, if told, that nothing was done, or everything.
    pub(crate) fn check(&self, repo: &Path, expected: Option<&Values>, context: &str) -> Values {
        let text = fs::read_to_string(repo.join("packed-refs")).unwrap();
        assert!(self.packed.contains(&text), "{context}: packed-refs is neither old nor new:\n{text}");
        let mut values = packed(repo);
        values.extend(loose(repo));
        for name in self.old.keys().chain(self.new.keys()).chain(values.keys()) {
            let value = values.get(name);
            assert!(value == self.old.get(name) || value == self.new.get(name), "{context}: {name} is at {value:?}");
        }
        // One rename decides over a batch that is packed.
        let is_partly = values != self.old && values != self.new;
        assert!(!is_partly || self.scenario.placement == Placement::Loose, "{context}: {values:?}");
        if let Some(expected) = expected {
            let differs = expected.iter().find(|(name, value)| values.get(*name) != Some(value));
            assert!(&values == expected, "{context}: {differs:?}");
        }
        values
    }
}
