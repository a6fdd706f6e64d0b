//! Rewrites of packed-refs by spans, against rewrites of records one by one.

mod generator;
mod rewrite;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use generator::{Random, Ref, SORTED, for_each_file, generate_many, with_duplicates, write};
use refspan::fs::{Call, Step, Unspliced, splice, watch};
use refspan::model::HashKind;
use refspan::packed::{Base, Header, Plan};
use rewrite::{
    Edits, Failure, PIECE, edited, edits, file, has_split_parts, header_line, numbered, numbered_name, open, patches,
    rewritten, spliced,
};

/// Files that are larger are written by another thread.
const WORTH_A_THREAD: usize = 1 << 20;

const ENOSPC: i32 = 28;

/// The file with other separators than git's here and there.
fn with_odd_separators(random: &mut Random, data: &[u8], hash: HashKind) -> Vec<u8> {
    let mut data = data.to_vec();
    let mut start = 0;
    for line in data.clone().split_inclusive(|&byte| byte == b'\n') {
        if !line.starts_with(b"#") && !line.starts_with(b"^") {
            data[start + hash.hex_len()] = random.pick(&[b" ", b"\t", b"\r"])[0];
        }
        start += line.len();
    }
    data
}

/// Makes the edits and compares with what a naive rewrite makes of them.
fn check(base: &Base, refs: &[Ref], edits: &Edits) {
    let plan = Plan::new(base, patches(base, edits).unwrap(), base.header());
    let expected = write(&header_line(base.header()), &edited(refs, edits));
    let new = spliced(base, &plan).unwrap();
    assert!(new == expected, "{}\nis not\n{}", new.escape_ascii(), expected.escape_ascii());
    assert!(!has_split_parts(&plan));
    let kept = plan.steps().filter(|step| matches!(step, Step::Keep(_))).count();
    assert!(kept <= edits.len() + 1);
}

#[test]
fn edits_of_a_sorted_file_give_what_a_naive_rewrite_gives() {
    for_each_file(|random, hash, refs| {
        let refs = with_duplicates(random, hash, refs, 6, 4);
        let data = write(SORTED, &refs);
        for one_in in [1, 3, 40] {
            check(&open(&data, hash).unwrap(), &refs, &edits(random, hash, &refs, one_in));
        }
    });
}

#[test]
fn edits_of_a_file_without_a_header_or_order_give_a_sorted_file() {
    for_each_file(|random, hash, refs| {
        let mut refs = with_duplicates(random, hash, refs, 6, 4);
        let edits = edits(random, hash, &refs, 3);
        for header in [&b""[..], b"# pack-refs with: peeled \n"] {
            check(&open(&write(header, &refs), hash).unwrap(), &refs, &edits);
        }
        refs.reverse();
        check(&open(&write(b"", &refs), hash).unwrap(), &refs, &edits);
    });
}

#[test]
fn edits_of_files_of_many_pieces_give_what_a_naive_rewrite_gives() {
    for round in 0..8 {
        let mut random = Random::new(round);
        let hash = HashKind::ALL[random.below(2)];
        let refs = generate_many(&mut random, hash, 16_000, 2 * PIECE);
        let refs = with_duplicates(&mut random, hash, refs, 500, 4);
        let data = write(SORTED, &refs);
        assert!(data.len() > WORTH_A_THREAD);
        let base = open(&data, hash).unwrap();
        for one_in in [3, 200, 1_000_000] {
            check(&base, &refs, &edits(&mut random, hash, &refs, one_in));
        }
    }
}

#[test]
fn all_that_git_writes_otherwise_than_it_reads_is_mended() {
    for_each_file(|random, hash, refs| {
        let data = with_odd_separators(random, &write(SORTED, &refs), hash);
        check(&open(&data, hash).unwrap(), &refs, &edits(random, hash, &refs, 5));
        let odd = with_odd_separators(random, &write(b"", &refs), hash);
        check(&open(&odd, hash).unwrap(), &refs, &Edits::new());
    });
}

#[test]
fn separators_and_digits_are_mended_wherever_a_piece_ends() {
    let tail: Vec<Ref> = (0..9).map(|i| (vec![b'b', b'0' + i], b"ABCDEF1234".repeat(4), None)).collect();
    for extra in 0..150 {
        // The first name moves the other records over the end of the first piece, byte by byte.
        let mut refs = vec![(vec![b'a'; PIECE - 300 + extra], b"AB".repeat(20), Some(b"CD".repeat(20)))];
        refs.extend(tail.clone());
        let data = with_odd_separators(&mut Random::new(extra as u64), &write(SORTED, &refs), HashKind::Sha1);
        let new = rewritten(&open(&data, HashKind::Sha1).unwrap(), &Edits::new()).unwrap();
        assert!(new == write(SORTED, &edited(&refs, &Edits::new())), "{extra}");
    }
}

#[test]
fn a_plan_without_edits_keeps_all_records_in_one_span() {
    let refs = generate_many(&mut Random::new(5), HashKind::Sha1, 1_000, 100);
    let base = open(&write(SORTED, &refs), HashKind::Sha1).unwrap();
    let plan = Plan::new(&base, Vec::new(), base.header());
    let steps: Vec<_> = plan.steps().collect();
    assert_eq!(steps, [Step::Put(SORTED), Step::Keep(base.body().clone())]);
}

#[test]
fn one_deletion_keeps_what_is_before_and_behind_in_two_spans() {
    let base = numbered(1_000_000, |_| ());
    let plan = Plan::new(&base, patches(&base, &Edits::from([(numbered_name(1_000), None)])).unwrap(), base.header());
    let start = SORTED.len() + 1_000 * rewrite::NUMBERED;
    let (front, back) = (SORTED.len()..start, start + rewrite::NUMBERED..base.body().end);
    assert_eq!(plan.steps().collect::<Vec<_>>(), [Step::Put(SORTED), Step::Keep(front), Step::Keep(back)]);
}

#[test]
fn deletions_side_by_side_leave_no_empty_span_between_them() {
    let base = numbered(1_000, |_| ());
    let edits: Edits =
        (0..1_000).filter(|number| number % 100 > 1).map(|number| (numbered_name(number), None)).collect();
    let plan = Plan::new(&base, patches(&base, &edits).unwrap(), base.header());
    let kept: Vec<usize> = plan
        .steps()
        .filter_map(|step| match step {
            Step::Keep(span) => Some(span.len()),
            Step::Put(_) => None,
        })
        .collect();
    assert_eq!(kept, [2 * rewrite::NUMBERED; 10]);
}

#[test]
fn records_put_side_by_side_are_one_text() {
    let base = open(SORTED, HashKind::Sha1).unwrap();
    let oid = b"1".repeat(40);
    let edits: Edits = [b"refs/a", b"refs/b", b"refs/c"].map(|name| (name.to_vec(), Some((oid.clone(), None)))).into();
    let plan = Plan::new(&base, patches(&base, &edits).unwrap(), base.header());
    assert_eq!(plan.steps().count(), 2, "the header, and the records");
}

#[test]
fn the_header_claims_what_is_told_and_that_the_records_are_sorted() {
    for (peeled, fully_peeled, text) in [
        (false, false, "# pack-refs with: sorted \n"),
        (true, false, "# pack-refs with: peeled sorted \n"),
        (false, true, "# pack-refs with: fully-peeled sorted \n"),
        (true, true, "# pack-refs with: peeled fully-peeled sorted \n"),
    ] {
        let claims = Header { peeled, fully_peeled, ..Header::default() };
        let base = Base::empty(HashKind::Sha1);
        let plan = Plan::new(&base, Vec::new(), claims);
        assert_eq!(plan.steps().collect::<Vec<_>>(), [Step::Put(text.as_bytes())]);
        let traits: Vec<&str> = text.trim_start_matches("# pack-refs with: ").split_whitespace().collect();
        assert_eq!(plan.traits(), traits);
    }
}

#[test]
fn traits_that_nobody_knows_are_not_kept() {
    let record = [&b"1".repeat(40)[..], b" refs/a\n"].concat();
    let data = [b"# pack-refs with: new sorted fully-peeled odd \n", &record[..]].concat();
    let new = rewritten(&open(&data, HashKind::Sha1).unwrap(), &Edits::new()).unwrap();
    assert_eq!(new, [b"# pack-refs with: fully-peeled sorted \n", &record[..]].concat());
}

#[test]
fn a_file_that_shrinks_after_it_was_planned_is_an_error() {
    let refs = generate_many(&mut Random::new(3), HashKind::Sha1, 20_000, 100);
    let data = write(SORTED, &refs);
    assert!(data.len() > WORTH_A_THREAD);
    let edits = Edits::from([(refs[0].0.clone(), None), (refs[5_000].0.clone(), None)]);
    for len in [0, SORTED.len(), SORTED.len() + 10, PIECE - 1, PIECE, PIECE + 1, data.len() / 2, data.len() - 1] {
        let file = file(&data);
        let handle = file.try_clone().unwrap();
        let base = Base::new(Box::new(file), data.len(), HashKind::Sha1, &mut || true).unwrap();
        let plan = Plan::new(&base, patches(&base, &edits).unwrap(), base.header());
        handle.set_len(len as u64).unwrap();
        assert_eq!(spliced(&base, &plan), Err(Failure::Io(ErrorKind::UnexpectedEof)), "{len}");
    }
}

#[test]
fn a_file_without_order_was_read_before_it_shrinks() {
    let refs = generate_many(&mut Random::new(4), HashKind::Sha1, 1_000, 100);
    let file = file(&write(b"", &refs));
    let handle = file.try_clone().unwrap();
    let len = usize::try_from(file.metadata().unwrap().len()).unwrap();
    let base = Base::new(Box::new(file), len, HashKind::Sha1, &mut || true).unwrap();
    handle.set_len(0).unwrap();
    check(&base, &refs, &Edits::from([(refs[0].0.clone(), None)]));
}

#[test]
fn an_interrupt_ends_a_rewrite_of_a_large_file() {
    let base = numbered(500_000, |_| ());
    let plan = Plan::new(&base, Vec::new(), base.header());
    let into = tempfile::tempfile().unwrap();
    for into in [None, Some((&into, Path::new("")))] {
        let mut checker = plan.checker(&base);
        let done = splice(&base, plan.steps(), &mut checker, into, &mut || false);
        assert!(matches!(done, Err(Unspliced::Interrupted)));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_be_written_is_an_error_whoever_writes_it() {
    const EBADF: i32 = 9;
    for count in [10, 2 * WORTH_A_THREAD / rewrite::NUMBERED, 8 * WORTH_A_THREAD / rewrite::NUMBERED] {
        let base = numbered(count, |_| ());
        let plan = Plan::new(&base, Vec::new(), base.header());
        for into in [File::open("/dev/null").unwrap(), File::options().write(true).open("/dev/full").unwrap()] {
            let mut checker = plan.checker(&base);
            let done = splice(&base, plan.steps(), &mut checker, Some((&into, Path::new(""))), &mut || true);
            let Err(Unspliced::Write(error)) = done else { panic!("{done:?}") };
            assert!(matches!(error.raw_os_error(), Some(EBADF | ENOSPC)), "{error}");
        }
    }
}

/// Stands for a path whose n-th write fails; n comes behind it.
const FAILS_AT: &str = "fails at ";
static WRITES: AtomicUsize = AtomicUsize::new(0);

fn hook(call: Call, path: &Path) -> io::Result<()> {
    let Some(number) = path.to_str().and_then(|path| path.strip_prefix(FAILS_AT)) else { return Ok(()) };
    assert_eq!(call, Call::Write);
    let is_it = number == (WRITES.fetch_add(1, Relaxed) + 1).to_string();
    if is_it { Err(io::Error::from_raw_os_error(ENOSPC)) } else { Ok(()) }
}

#[test]
fn any_one_write_that_fails_is_an_error_whoever_writes() {
    watch(hook);
    for count in [10, 9 * PIECE / rewrite::NUMBERED] {
        let base = numbered(count, |_| ());
        let plan = Plan::new(&base, Vec::new(), base.header());
        let into = tempfile::tempfile().unwrap();
        for number in 1.. {
            WRITES.store(0, Relaxed);
            let path = format!("{FAILS_AT}{number}");
            let mut checker = plan.checker(&base);
            let done = splice(&base, plan.steps(), &mut checker, Some((&into, Path::new(&path))), &mut || true);
            if WRITES.load(Relaxed) < number {
                assert!(done.is_ok());
                // Each of them has failed.
                assert!(number > 1 + base.body().end / PIECE);
                break;
            }
            let Err(Unspliced::Write(error)) = done else { panic!("{number}: {done:?}") };
            assert_eq!(error.raw_os_error(), Some(ENOSPC));
        }
    }
}
