//! Transactions in which any one call to the system fails: all is undone, or what was done is right.
#![cfg(unix)]

mod faults;

use std::path::{Path, PathBuf};

use faults::Faults;
use faults::case::{
    Case, LARGE, LOOSE_FULL, LOOSE_GIT, LOOSE_NOTHING, PACKED_FULL, PACKED_GIT, PACKED_NOTHING, SCENARIOS, SHARED,
    Scenario,
};
use faults::repository::{Template, git_values, leftovers};
use refspan::fs::Call;
use refspan::model::Error;

const EIO: i32 = 5;
const EACCES: i32 = 13;
const ENOSPC: i32 = 28;

/// Lets each call fail in turn, and checks what is left.
fn sweep(scenario: &Scenario, errnos: &[i32], faults_at: fn(usize, i32) -> Faults) {
    let template = Template::new();
    let case = Case::new(&template, scenario);
    for &errno in errnos {
        for number in 1.. {
            let (_dir, repo) = case.repository();
            let faults = faults_at(number, errno);
            let done = case.run(&repo, &faults, || ());
            let calls = faults.calls();
            let context = format!("{}, error {errno} at call {number}: {:?}", scenario.name, calls.get(number - 1));
            check(&case, &repo, &done, errno, &context);
            if matches!(done, Err((true, _))) {
                // Nothing is in the way of who tries again.
                case.run(&repo, &Faults::at(0, 0), || ()).unwrap_or_else(|error| panic!("{context}: {error:?}"));
                case.check(&repo, Some(&case.new), &context);
            }
            if calls.len() < number {
                assert!(done.is_ok());
                assert!(number > 20, "{context}");
                break;
            }
        }
    }
}

fn check(case: &Case<'_>, repo: &Path, done: &Result<(), (bool, Error)>, errno: i32, context: &str) {
    assert_eq!(leftovers(repo), Vec::<PathBuf>::new(), "{context}: {done:?}");
    match done {
        Ok(()) => {
            case.check(repo, Some(&case.new), context);
        }
        Err((is_preparing, Error::Io { path, source })) => {
            assert_eq!(source.raw_os_error(), Some(errno), "{context}");
            assert!(path.starts_with(repo), "{context}: {}", path.display());
            case.check(repo, is_preparing.then_some(&case.old), context);
        }
        Err((_, error)) => panic!("{context}: {error}"),
    }
}

#[test]
fn without_a_failure_every_scenario_gives_what_git_reads_as_the_new_values() {
    let template = Template::new();
    assert_eq!(git_values(template.path()), Case::new(&template, &LOOSE_FULL).old);
    for scenario in &SCENARIOS {
        let case = Case::new(&template, scenario);
        let (_dir, repo) = case.repository();
        assert_eq!(git_values(&repo), case.old, "{}", scenario.name);
        let faults = Faults::at(0, 0);
        case.run(&repo, &faults, || ()).unwrap();
        assert!(faults.calls().len() > 20);
        assert_eq!(git_values(&repo), case.new, "{}", scenario.name);
        case.check(&repo, Some(&case.new), scenario.name);
        let packed = std::fs::read_to_string(repo.join("packed-refs")).unwrap();
        assert_eq!(Some(&packed), case.packed.last(), "{}", scenario.name);
    }
}

#[test]
fn any_failure_while_refs_are_written_and_synced() {
    sweep(&LOOSE_FULL, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_while_refs_are_packed_and_synced() {
    sweep(&PACKED_FULL, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_while_refs_are_written_as_git_writes_them() {
    sweep(&LOOSE_GIT, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_while_refs_are_packed_as_git_writes_them() {
    sweep(&PACKED_GIT, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_while_refs_are_written_and_nothing_is_synced() {
    sweep(&LOOSE_NOTHING, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_while_refs_are_packed_and_nothing_is_synced() {
    sweep(&PACKED_NOTHING, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_in_a_repository_that_others_share() {
    sweep(&SHARED, &[ENOSPC, EIO, EACCES], Faults::at);
}

#[test]
fn any_failure_while_a_large_file_is_written() {
    sweep(&LARGE, &[ENOSPC], Faults::at);
}

#[test]
fn a_disk_that_is_full_from_any_call_on() {
    for scenario in [LOOSE_FULL, PACKED_FULL, LOOSE_NOTHING, PACKED_NOTHING] {
        sweep(&scenario, &[ENOSPC], Faults::from);
    }
}

/// The calls of a run without failures.
fn calls(scenario: &Scenario) -> (PathBuf, Vec<(Call, PathBuf)>) {
    let template = Template::new();
    let case = Case::new(&template, scenario);
    let (_dir, repo) = case.repository();
    let faults = Faults::at(0, 0);
    case.run(&repo, &faults, || ()).unwrap();
    (repo, faults.calls())
}

/// Whether something is on disk before a call is made.
fn is_synced(before: &[(Call, PathBuf)], path: &Path) -> bool {
    let last = before.iter().rposition(|(call, at)| *call == Call::Sync && at == path);
    let changed = before.iter().rposition(|(call, at)| *call != Call::Sync && at == path);
    last > changed
}

#[test]
fn with_full_durability_a_file_is_on_disk_before_it_takes_the_place_of_another() {
    for scenario in [LOOSE_FULL, PACKED_FULL, LARGE] {
        let (repo, calls) = calls(&scenario);
        let mut renames = 0;
        for (number, (_, to)) in calls.iter().enumerate().filter(|(_, (call, _))| *call == Call::Rename) {
            let end = if *to == repo.join("packed-refs") { "new" } else { "lock" };
            let from = PathBuf::from(format!("{}.{end}", to.display()));
            assert!(is_synced(&calls[..number], &from), "{}: {}", scenario.name, to.display());
            renames += 1;
        }
        assert!(renames >= 2, "{}", scenario.name);
    }
}

#[test]
fn with_full_durability_all_names_are_on_disk_when_a_commit_returns() {
    for scenario in [LOOSE_FULL, PACKED_FULL, LARGE] {
        let (repo, calls) = calls(&scenario);
        for (number, (call, path)) in calls.iter().enumerate() {
            // A lock is no matter, and a directory that goes again is not either.
            let is_lock = path.extension().is_some_and(|end| end == "lock" || end == "new");
            if matches!(call, Call::Rename | Call::Remove) && !is_lock {
                for dir in path.ancestors().skip(1).take_while(|dir| dir.starts_with(&repo)) {
                    let is_it = |(call, at): &&(Call, PathBuf)| *call == Call::Sync && at == dir;
                    let is_direct = Some(dir) == path.parent();
                    let has_been_made = calls[..number].iter().any(|(call, at)| *call == Call::MakeDir && at == dir);
                    assert!(
                        calls[number..].iter().any(|call| is_it(&call)) || !(is_direct || has_been_made),
                        "{}: {call:?} {} is not followed by a sync of {}",
                        scenario.name,
                        path.display(),
                        dir.display()
                    );
                }
            }
        }
    }
}

#[test]
fn with_full_durability_a_loose_ref_goes_after_its_packed_one_has_changed_on_disk() {
    for scenario in [LOOSE_FULL, PACKED_FULL, LARGE] {
        let (repo, calls) = calls(&scenario);
        let is_ref = |path: &Path| path.extension().is_none();
        let is_removed = |(call, path): &(Call, PathBuf)| *call == Call::Remove && is_ref(path);
        let removed = calls.iter().position(is_removed).unwrap();
        let is_published = |(call, path): &(Call, PathBuf)| *call == Call::Rename && *path == repo.join("packed-refs");
        let published = calls[..removed].iter().rposition(is_published).unwrap();
        let is_synced = |(call, path): &(Call, PathBuf)| *call == Call::Sync && *path == repo;
        assert!(calls[published..removed].iter().any(is_synced), "{}", scenario.name);
    }
}

#[test]
fn refs_are_set_before_others_are_removed_from_packed_refs_and_those_before_loose_ones_go() {
    for scenario in [LOOSE_FULL, LOOSE_NOTHING] {
        let (repo, calls) = calls(&scenario);
        let is_packed_refs = |path: &Path| path == repo.join("packed-refs");
        let order: Vec<u8> = calls
            .iter()
            .filter_map(|(call, path)| match call {
                Call::Rename if is_packed_refs(path) => Some(2),
                Call::Rename => Some(1),
                // Locks are no refs.
                Call::Remove if path.extension().is_none() => Some(3),
                _ => None,
            })
            .collect();
        assert!(order.is_sorted(), "{}: {order:?}", scenario.name);
        assert!([1, 2, 3].iter().all(|step| order.contains(step)));
    }
}

#[test]
fn nothing_is_synced_unless_somebody_says_so() {
    for scenario in [LOOSE_NOTHING, PACKED_NOTHING, PACKED_GIT, SHARED] {
        let (_, calls) = calls(&scenario);
        let syncs = calls.iter().filter(|(call, _)| *call == Call::Sync).count();
        assert_eq!(syncs > 0, scenario.durability == refspan::store::Durability::Full, "{}", scenario.name);
    }
}

#[test]
fn what_git_is_told_to_sync_is_synced_before_it_is_renamed() {
    let (repo, calls) = calls(&LOOSE_GIT);
    for (number, (_, to)) in calls.iter().enumerate().filter(|(_, (call, _))| *call == Call::Rename) {
        let end = if *to == repo.join("packed-refs") { "new" } else { "lock" };
        assert!(is_synced(&calls[..number], Path::new(&format!("{}.{end}", to.display()))), "{}", to.display());
    }
}
