//! Any bytes as a packed-refs file: all ways to read it must agree, and none may panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use refspan::fs::Backing;
use refspan::model::{Oid, Selection};
use refspan::packed::{Cursor, Damage, Reason, Record, Snapshot, Stop};

fuzz_target!(|data: &[u8]| {
    let Ok(snapshot) = Snapshot::new(Backing::Owned(data.to_vec()), None, &mut || true) else { return };

    // Before any full read, a lookup does not know yet whether the order can be relied on: it must only return.
    let _ = snapshot.find(data);

    let (records, stop) = walk(&snapshot, snapshot.select(Selection::default()).expect("nothing is sought"));
    let count = snapshot.count(&mut || true);
    assert_eq!(count, stop.map_or(Ok(records.len()), |damage| Err(Stop::Damage(damage))));
    let is_unordered = stop.is_some_and(|damage| damage.reason == Reason::OutOfOrder);

    for record in &records {
        let name = snapshot.bytes(record.name());
        let is_duplicate = records.iter().filter(|other| snapshot.bytes(other.name()) == name).count() > 1;
        match snapshot.find(name) {
            Err(damage) => assert!(stop.is_some() || (is_duplicate && damage.reason == Reason::Duplicate)),
            Ok(found) => {
                assert!(!is_unordered, "a false claim to be sorted is remembered");
                // Behind damage there may be disorder, or a duplicate, of which nobody knows yet.
                if stop.is_none() {
                    assert!(found == Some(*record) && !is_duplicate);
                }
                assert!(found.is_none_or(|found| snapshot.bytes(found.name()) == name));
            }
        }
        let _ = (snapshot.broken(record), snapshot.peel_known(record));
    }

    if let Some(record) = records.first()
        && stop.is_none()
    {
        let name = snapshot.bytes(record.name());
        let prefix = &name[..name.len() / 2];
        let selection = Selection { prefix, start_after: Some(name), exclude: &[b"refs/tags", b"refs/heads/"] };
        let expected: Vec<Record> =
            records.iter().copied().filter(|it| is_selected(&snapshot, it, selection)).collect();
        assert_eq!(walk(&snapshot, snapshot.select(selection).expect("the file is sound")), (expected, None));

        let is_there = |span| snapshot.bytes(span).eq_ignore_ascii_case(snapshot.bytes(record.oid()));
        let pointing = |it: &&Record| is_there(it.oid()) || it.peeled().is_some_and(is_there);
        let oid = Oid::from_hex(snapshot.bytes(record.oid())).expect("it was checked");
        let expected: Vec<Record> = records.iter().filter(pointing).copied().collect();
        assert_eq!(snapshot.points_at(&oid, &mut || true), Ok(expected));
    }
});

fn walk(snapshot: &Snapshot, mut cursor: Cursor) -> (Vec<Record>, Option<Damage>) {
    let mut records = Vec::new();
    loop {
        match snapshot.next(&mut cursor) {
            Ok(Some(record)) => records.push(record),
            Ok(None) => return (records, None),
            Err(damage) => {
                assert_eq!(snapshot.next(&mut cursor), Err(damage), "an error stays");
                return (records, Some(damage));
            }
        }
    }
}

fn is_selected(snapshot: &Snapshot, record: &Record, selection: Selection<'_>) -> bool {
    let name = snapshot.bytes(record.name());
    let is_excluded = |top: &&[u8]| {
        let below = name.strip_prefix(top.strip_suffix(b"/").unwrap_or(top));
        name == *top || below.is_some_and(|rest| rest.starts_with(b"/"))
    };
    name.starts_with(selection.prefix)
        && selection.start_after.is_none_or(|after| name > after)
        && !selection.exclude.iter().any(is_excluded)
}
