//! What the plan of a rewrite may allocate: nothing for a record that is kept.

mod counting;
mod generator;
mod rewrite;

use std::fs;
use std::sync::Arc;

use counting::{SORTED, allocated, packed_refs};
use refspan::model::{Edit, Expected, Verb};
use refspan::packed::{Locator, Patch, Plan, Put};
use refspan::store::{Durability, Live, Options, Placement, Transaction};
use rewrite::{numbered, numbered_name};

#[test]
fn the_plan_of_one_deletion_compares_few_names_and_allocates_the_same_among_a_thousand_and_a_million_records() {
    let [small, large] = [1_000, 1_000_000].map(|count| {
        let base = numbered(count, |_| ());
        [0, 1, count / 3, count / 2, count - 1].map(|number| {
            let name = numbered_name(number);
            allocated(|| {
                let mut locator = Locator::new(&base);
                let site = locator.locate(&name).unwrap();
                assert_eq!(site.copies, 1);
                assert!(locator.compared() < 64, "{}", locator.compared());
                let plan =
                    Plan::new(&base, vec![Patch { span: site.span, put: Put::Nothing(name.clone()) }], base.header());
                assert!(plan.steps().count() <= 3);
            })
        })
    });
    // How much of a window is left at the end of the file is chance, and less than a window.
    assert_eq!(small.map(|(count, _)| count), large.map(|(count, _)| count));
    assert!(small.iter().chain(&large).all(|(_, bytes)| *bytes < 20 << 10), "{small:?} {large:?}");
}

/// A bare repository that has nothing but packed refs.
fn repository(count: usize) -> (tempfile::TempDir, Arc<Live>) {
    let (directory, path) = packed_refs(SORTED, count);
    let repo = path.parent().unwrap();
    fs::create_dir(repo.join("objects")).unwrap();
    fs::create_dir(repo.join("refs")).unwrap();
    fs::write(repo.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(repo.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n").unwrap();
    let live = Arc::new(Live::open(Some(repo), None).unwrap());
    (directory, live)
}

#[test]
fn a_transaction_plans_one_deletion_with_the_same_memory_among_few_and_among_many_records() {
    let [few, many] = [1_000, 100_000].map(|count| {
        let (_directory, live) = repository(count);
        let options = Options {
            placement: Placement::Loose,
            durability: Durability::Git,
            patience: None,
            checks_objects: true,
            is_atomic: true,
        };
        let mut transaction = Transaction::new(live, options);
        let name = b"refs/heads/topic/0000500".to_vec();
        let edit = Edit { verb: Verb::Delete, name, new: None, old: Expected::Any };
        transaction.apply(vec![edit], &mut || true).unwrap();
        // The paths of directories are of different lengths: what is asked for the first time is not counted.
        transaction.plan(&mut || true).unwrap();
        allocated(|| assert_eq!(transaction.plan(&mut || true).unwrap().kept.len(), 2))
    });
    assert_eq!(few, many);
}
