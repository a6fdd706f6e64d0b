//! Any bytes as a table: all ways to read it must agree, none may panic, and none may repeat itself for ever.
//!
//! Few random bytes have a footer with the right checksum, and fewer are a zlib stream, so the target makes those: the
//! first byte says whether the others are a table but for them, or the records of a log.
#![no_main]

use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use libfuzzer_sys::fuzz_target;
use refspan::fs::Backing;
use refspan::reftable::{
    Block, Damage, Hit, Keyed, Kind, LogCursor, Merge, RefCursor, Table, Value, points_at, summaries,
};

const HASH_IDS: [&[u8]; 2] = [b"sha1", b"s256"];

/// A ref as a walk shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ref {
    name: Vec<u8>,
    value: Value,
    update_index: u64,
    start: usize,
}

fuzz_target!(|data: &[u8]| {
    let Some((mode, rest)) = data.split_first() else { return };
    let file = if mode & 1 == 0 { repaired(rest.to_vec(), *mode) } else { log_table(rest) };
    let Some(file) = file else { return };
    let Ok(table) = Table::new(Backing::Owned(file), None) else { return };
    let table = Arc::new(table);
    check_refs(&table);
    check_logs(&table);
});

/// The table with a header that names a known hash, and a footer that repeats it and has the right checksum.
fn repaired(mut file: Vec<u8>, mode: u8) -> Option<Vec<u8>> {
    let version = if mode & 2 == 0 { 1 } else { 2 };
    let header_len = if version == 1 { 24 } else { 28 };
    let footer_start = file.len().checked_sub(header_len + 44).filter(|start| *start >= header_len)?;
    file[..4].copy_from_slice(b"REFT");
    file[4] = version;
    if version == 2 {
        file[24..28].copy_from_slice(HASH_IDS[usize::from(mode >> 2 & 1)]);
    }
    file.copy_within(..header_len, footer_start);
    let crc_start = file.len() - 4;
    let crc = crc32fast::hash(&file[footer_start..crc_start]);
    file[crc_start..].copy_from_slice(&crc.to_be_bytes());
    Some(file)
}

/// A table whose only block, of logs, has this behind its head.
fn log_table(records: &[u8]) -> Option<Vec<u8>> {
    let mut file = vec![0; 24];
    file.push(b'g');
    file.extend_from_slice(&u32::try_from(28 + records.len()).ok()?.to_be_bytes()[1..]);
    let mut stream = ZlibEncoder::new(file, Compression::none());
    stream.write_all(records).ok()?;
    let mut file = stream.finish().ok()?;
    file.extend_from_slice(&[0; 68]);
    repaired(file, 0)
}

fn check_refs(table: &Arc<Table>) {
    let (refs, damage) = walk_refs(table);
    assert!(refs.is_sorted_by(|a, b| a.name < b.name));
    let blocks = summaries(table, &mut || true).map(Option::unwrap);
    if let (Ok(blocks), None) = (&blocks, damage) {
        let of_refs = || blocks.iter().filter(|summary| summary.block.kind == Kind::Ref);
        assert!(of_refs().map(|summary| summary.records).sum::<usize>() >= refs.len());
        // A restart table or an index that lies may hide a ref: there is no checksum that would tell.
        if table.footer().ref_index.is_none()
            && of_refs().all(|summary| has_true_restarts(table, &summary.block, &refs))
        {
            check_seeks(table, &refs);
        }
    }
    let mut cursor = RefCursor::new(table.clone());
    for found in refs.iter().take(50) {
        if cursor.seek(&found.name).is_ok() {
            assert!(cursor.key().is_none_or(|key| key >= &found.name[..]));
        }
    }
    for found in refs.iter().take(20) {
        if let Value::Oid(span) | Value::Peeled(_, span) = &found.value {
            let oid = &table.data()[span.clone()];
            let Ok(hits) = points_at(table, oid, &mut || true) else { continue };
            let hits: Vec<Vec<u8>> = hits.unwrap().into_iter().map(name_of).collect();
            if table.footer().obj.is_none() {
                let pointing = refs.iter().filter(|other| holds(table, other, oid));
                assert_eq!((hits, None), (pointing.map(|other| other.name.clone()).collect(), damage));
            }
        }
    }
}

fn check_seeks(table: &Arc<Table>, refs: &[Ref]) {
    let mut cursor = RefCursor::new(table.clone());
    for (i, found) in refs.iter().enumerate() {
        for (key, expected) in [(found.name.clone(), Some(found)), ([&found.name[..], b"\0"].concat(), refs.get(i + 1))]
        {
            cursor.seek(&key).unwrap();
            let expected = expected.filter(|next| next.name >= key).or_else(|| refs.get(i + 2));
            assert_eq!(here(&cursor).as_ref(), expected);
        }
    }
}

fn check_logs(table: &Arc<Table>) {
    let mut merge = Merge::new(vec![LogCursor::new(table.clone())]);
    let mut keys: Vec<Vec<u8>> = Vec::new();
    if merge.seek(b"").is_err() {
        return;
    }
    loop {
        match merge.step() {
            Ok(Some(number)) => {
                let cursor = merge.cursor(number).expect("it is one of them");
                let record = cursor.record().expect("the walk stands on one");
                let key = cursor.key().unwrap();
                assert!(key.starts_with(record.refname) && keys.last().is_none_or(|last| &last[..] < key));
                keys.push(key.to_vec());
            }
            Ok(None) => break,
            Err(damage) => {
                assert_eq!(merge.step(), Err(damage), "an error stays");
                break;
            }
        }
    }
    let mut cursor = LogCursor::new(table.clone());
    for key in keys.iter().take(50) {
        if cursor.seek(key).is_ok() {
            assert!(cursor.key().is_none_or(|here| here >= &key[..]));
        }
    }
}

fn walk_refs(table: &Arc<Table>) -> (Vec<Ref>, Option<Damage>) {
    let mut merge = Merge::new(vec![RefCursor::new(table.clone())]);
    let mut refs = Vec::new();
    if let Err((_, damage)) = merge.seek(b"") {
        return (refs, Some(damage));
    }
    loop {
        match merge.step() {
            Ok(Some(number)) => refs.push(merge.cursor(number).and_then(here).expect("the walk stands on one")),
            Ok(None) => return (refs, None),
            Err((number, damage)) => {
                assert_eq!(merge.step(), Err((number, damage)), "an error stays");
                return (refs, Some(damage));
            }
        }
    }
}

fn here(cursor: &RefCursor) -> Option<Ref> {
    let record = cursor.record()?;
    let name = cursor.batch().name(cursor.index());
    assert!(!name.is_empty());
    let span = record.span();
    assert!(cursor.table().data().get(span.clone()).is_some());
    let _ = cursor.batch().broken(cursor.index(), cursor.table().data());
    Some(Ref { name: name.to_vec(), value: record.value(), update_index: record.update_index, start: span.start })
}

fn name_of((batch, index): Hit) -> Vec<u8> {
    batch.name(index).to_vec()
}

fn holds(table: &Table, found: &Ref, oid: &[u8]) -> bool {
    let is_it = |span: &std::ops::Range<usize>| table.data()[span.clone()] == *oid;
    match &found.value {
        Value::Oid(span) => is_it(span),
        Value::Peeled(span, peeled) => is_it(span) || is_it(peeled),
        Value::Deletion | Value::Symref(_) => false,
    }
}

/// Whether each restart is, in ascending order, the start of a record that has its whole name.
fn has_true_restarts(table: &Table, block: &Block, refs: &[Ref]) -> bool {
    let restarts_start = block.end - 2 - 3 * block.restarts;
    let restarts = table.data()[restarts_start..block.end - 2].chunks_exact(3);
    let offsets: Vec<usize> =
        restarts.map(|raw| raw.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))).collect();
    let is_record = |offset: &usize| {
        let start = block.start + offset;
        table.data().get(start) == Some(&0) && refs.iter().any(|found| found.start == start)
    };
    offsets.is_sorted_by(|a, b| a < b) && offsets.iter().all(is_record)
}
