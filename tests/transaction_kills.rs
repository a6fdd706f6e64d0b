//! Transactions whose process is killed at any one call to the system: each ref keeps its old value or has its new one,
//! and git goes on from there.
#![cfg(unix)]

mod faults;

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use faults::case::{
    Case, LARGE, LOOSE_FULL, LOOSE_GIT, LOOSE_NOTHING, PACKED_FULL, PACKED_GIT, PACKED_NOTHING, SCENARIOS, SHARED,
    Scenario,
};
use faults::repository::{Template, git, git_values, leftovers};
use faults::{Faults, KILL};
use refspan::store::Placement;

/// Tells the process that is killed what to do: in which repository, which scenario, at which call; and the template.
const ORDER: &str = "REFSPAN_TEST_KILL";

#[test]
#[ignore = "is run, and killed, by the other tests"]
fn the_process_that_is_killed() {
    let Ok(order) = env::var(ORDER) else { return };
    let [repo, name, number, template] = order.splitn(4, '\n').collect::<Vec<_>>()[..] else { unreachable!() };
    let scenario = SCENARIOS.into_iter().find(|scenario| scenario.name == name).unwrap();
    let template = Template::of(template);
    let case = Case::new(&template, &scenario);
    let repo = Path::new(repo);
    let prepared = || fs::write(mark(repo), "").unwrap();
    case.run(repo, &Faults::at(number.parse().unwrap(), KILL), prepared).unwrap();
}

/// What is there once the transaction is prepared.
fn mark(repo: &Path) -> PathBuf {
    repo.with_extension("prepared")
}

/// Runs a transaction in a process of its own that is killed at a call; whether it was there.
fn is_killed(template: &Template, scenario: &Scenario, repo: &Path, number: usize) -> bool {
    let order = [repo.to_str().unwrap(), scenario.name, &number.to_string(), &template.described()].join("\n");
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "the_process_that_is_killed"]).env(ORDER, order);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    is_killed
}

/// Has the process killed at every call, or, from the first on, at one in so many, and checks what is left.
fn sweep(scenario: &Scenario, one_in: usize) {
    let template = Template::new();
    let case = Case::new(&template, scenario);
    let mut ends = Vec::new();
    for number in (1..).step_by(one_in) {
        let (_dir, repo) = case.repository();
        let is_killed = is_killed(&template, scenario, &repo, number);
        let context = format!("{}, killed at call {number}", scenario.name);
        let expected = match (is_killed, mark(&repo).exists()) {
            (true, true) => None,
            (true, false) => Some(&case.old),
            (false, _) => Some(&case.new),
        };
        let values = case.check(&repo, expected, &context);
        ends.push((is_killed, values == case.old, values == case.new));
        assert_eq!(git_values(&repo), values, "{context}");
        git(&repo, &["fsck", "--no-progress"], "");
        if !is_killed {
            assert_eq!(leftovers(&repo), Vec::<PathBuf>::new(), "{context}");
            assert!(number > 20, "{context}");
            break;
        }
        go_on_with_git(&template, &repo, &context);
    }
    // A sweep that missed what it is about would prove nothing.
    let is_partial = scenario.placement == Placement::Loose;
    assert!(ends.contains(&(true, true, false)), "{}: always too late", scenario.name);
    assert!(ends.contains(&(true, false, true)), "{}: always too early", scenario.name);
    assert_eq!(ends.contains(&(true, false, false)), is_partial, "{}", scenario.name);
}

/// Does what an operator does after a crash: removes what is left, and uses git.
fn go_on_with_git(template: &Template, repo: &Path, context: &str) {
    let before = git_values(repo);
    for path in leftovers(repo) {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(git_values(repo), before, "{context}");
    let (again, gone) = ("refs/heads/again", "refs/heads/packed/stay");
    let commands = format!("create {again} {}\ndelete {gone}\ndelete refs/heads/both/stay\n", template.commits[3]);
    git(repo, &["update-ref", "--stdin"], &commands);
    let mut expected = before;
    expected.insert(again.to_owned(), template.commits[3].clone());
    expected.remove(gone);
    expected.remove("refs/heads/both/stay");
    assert_eq!(git_values(repo), expected, "{context}");
    git(repo, &["pack-refs", "--all"], "");
    assert_eq!(git_values(repo), expected, "{context}");
}

#[test]
fn a_kill_at_any_call_while_refs_are_written_and_synced() {
    sweep(&LOOSE_FULL, 1);
}

#[test]
fn a_kill_at_any_call_while_refs_are_packed_and_synced() {
    sweep(&PACKED_FULL, 1);
}

#[test]
fn kills_in_the_other_scenarios() {
    for scenario in [LOOSE_GIT, LOOSE_NOTHING, SHARED] {
        sweep(&scenario, 5);
    }
    for scenario in [PACKED_GIT, PACKED_NOTHING, LARGE] {
        sweep(&scenario, 3);
    }
}
