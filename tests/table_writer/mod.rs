//! A small writer of tables for the tests in Rust: version 1, one level of index, blocks padded to their size.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use refspan::store::TableFile;

/// What a ref record holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Deletion,
    Oid([u8; 20]),
    Peeled([u8; 20], [u8; 20]),
    Symref(Vec<u8>),
}

/// Refs by name.
pub(crate) type Refs = BTreeMap<Vec<u8>, Value>;

/// Log entries by name and negated update index, newest first: the message, or `None` for a tombstone.
pub(crate) type Logs = BTreeMap<(Vec<u8>, u64), Option<Vec<u8>>>;

/// Object ids are keys of the object blocks in full.
const OBJ_ID_LEN: usize = 20;

struct Writer {
    data: Vec<u8>,
    block_size: usize,
    /// Where the last block that may be padded starts.
    padded_from: Option<usize>,
}

struct Record {
    key: Vec<u8>,
    extra: u8,
    value: Vec<u8>,
}

/// Where blocks of one kind start, and their last keys.
type Blocks = Vec<(usize, Vec<u8>)>;

/// The bytes of a table.
pub(crate) fn write(refs: &Refs, logs: &Logs, block_size: usize, has_index: bool) -> Vec<u8> {
    let header = [b"REFT\x01", &be::<3>(block_size)[..], &be::<8>(1), &be::<8>(1 << 20)].concat();
    let mut writer = Writer { data: header.clone(), block_size, padded_from: None };
    let mut positions = [0; 5];
    let ref_blocks = writer.section(b'r', refs.iter().map(|(name, value)| ref_record(name, value)));
    if has_index && !ref_blocks.is_empty() {
        positions[0] = writer.index(&ref_blocks);
        let objects = objects(refs, &ref_blocks);
        let obj_blocks = writer.section(b'o', objects.iter().map(|(oid, blocks)| obj_record(oid, blocks)));
        positions[1] = obj_blocks.first().map_or(0, |(start, _)| start * 32 + OBJ_ID_LEN);
        positions[2] = if obj_blocks.is_empty() { 0 } else { writer.index(&obj_blocks) };
    }
    let log_blocks =
        writer.section(b'g', logs.iter().map(|((name, index), entry)| log_record(name, *index, entry.as_deref())));
    if !log_blocks.is_empty() {
        positions[3] = log_blocks[0].0;
        positions[4] = if has_index { writer.index(&log_blocks) } else { 0 };
    }
    let mut footer = header;
    footer.extend(positions.into_iter().flat_map(be::<8>));
    footer.extend(crc32fast::hash(&footer).to_be_bytes());
    [writer.data, footer].concat()
}

/// The table, opened, and the directory that holds it.
pub(crate) fn open(data: &[u8]) -> (tempfile::TempDir, Arc<TableFile>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.ref");
    std::fs::write(&path, data).unwrap();
    (directory, Arc::new(TableFile::open(path, None, true, &mut || true).unwrap()))
}

impl Writer {
    fn section(&mut self, kind: u8, records: impl Iterator<Item = Record>) -> Blocks {
        let mut blocks = Blocks::new();
        let mut records = records.peekable();
        while records.peek().is_some() {
            blocks.push(self.block(kind, &mut records));
        }
        blocks
    }

    /// Writes as many records as have room, but at least one; returns where the block starts, and the last key.
    fn block(&mut self, kind: u8, records: &mut std::iter::Peekable<impl Iterator<Item = Record>>) -> (usize, Vec<u8>) {
        if let Some(from) = self.padded_from.filter(|_| kind != b'g') {
            self.data.resize(self.data.len().max(from + self.block_size), 0);
        }
        let is_first = self.data.len() == 24;
        let start = if is_first { 0 } else { self.data.len() };
        let base = if is_first { 28 } else { 4 };
        let (mut body, mut restarts, mut last, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
        while let Some(record) = records.peek() {
            let prefix = if count % 16 == 0 { 0 } else { common(&last, &record.key) };
            let suffix = &record.key[prefix..];
            let encoded =
                [&varint(prefix)[..], &varint(suffix.len() << 3 | usize::from(record.extra)), suffix, &record.value]
                    .concat();
            let is_full = base + body.len() + encoded.len() + 3 * restarts.len() + 5 > self.block_size;
            if count > 0 && is_full && kind != b'i' {
                break;
            }
            if prefix == 0 {
                restarts.push(base + body.len());
            }
            body.extend(encoded);
            last = records.next().map(|record| record.key).unwrap();
            count += 1;
        }
        let count = be::<2>(restarts.len());
        body.extend(restarts.into_iter().flat_map(be::<3>));
        body.extend(count);
        self.data.push(kind);
        self.data.extend(be::<3>(base + body.len()));
        if kind == b'g' {
            let mut stream = ZlibEncoder::new(Vec::new(), Compression::fast());
            stream.write_all(&body).unwrap();
            body = stream.finish().unwrap();
        }
        self.data.extend(body);
        self.padded_from = (kind != b'g').then_some(start);
        (start, last)
    }

    fn index(&mut self, blocks: &Blocks) -> usize {
        let records = blocks.iter().map(|(start, last)| Record { key: last.clone(), extra: 0, value: varint(*start) });
        self.section(b'i', records)[0].0
    }
}

fn ref_record(name: &[u8], value: &Value) -> Record {
    let (extra, payload) = match value {
        Value::Deletion => (0, Vec::new()),
        Value::Oid(oid) => (1, oid.to_vec()),
        Value::Peeled(oid, peeled) => (2, [&oid[..], peeled].concat()),
        Value::Symref(target) => (3, string(target)),
    };
    Record { key: name.to_vec(), extra, value: [&[0], &payload[..]].concat() }
}

fn log_record(name: &[u8], negated: u64, entry: Option<&[u8]>) -> Record {
    let key = [name, b"\0", &negated.to_be_bytes()].concat();
    let value = entry.map(|message| {
        [&[1; 40][..], &string(b"Ann"), &string(b"a@b"), &varint(7), &530_i16.to_be_bytes(), &string(message)].concat()
    });
    Record { key, extra: u8::from(value.is_some()), value: value.unwrap_or_default() }
}

fn obj_record(oid: &[u8; 20], blocks: &[usize]) -> Record {
    let mut value = varint(blocks.len());
    let mut last = 0;
    for block in blocks {
        value.extend(varint(block - last));
        last = *block;
    }
    Record { key: oid.to_vec(), extra: 0, value }
}

/// In which blocks each object id stands.
fn objects(refs: &Refs, blocks: &Blocks) -> BTreeMap<[u8; 20], Vec<usize>> {
    let mut objects: BTreeMap<[u8; 20], Vec<usize>> = BTreeMap::new();
    for (name, value) in refs {
        let block = blocks[blocks.partition_point(|(_, last)| last < name)].0;
        let oids = match value {
            Value::Oid(oid) => vec![*oid],
            Value::Peeled(oid, peeled) => vec![*oid, *peeled],
            Value::Deletion | Value::Symref(_) => Vec::new(),
        };
        for oid in oids {
            let found = objects.entry(oid).or_default();
            if found.last() != Some(&block) {
                found.push(block);
            }
        }
    }
    objects
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn string(text: &[u8]) -> Vec<u8> {
    [&varint(text.len())[..], text].concat()
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut groups = vec![u8::try_from(number & 0x7f).unwrap()];
    while number >= 0x80 {
        number = (number >> 7) - 1;
        groups.insert(0, u8::try_from(number & 0x7f).unwrap() | 0x80);
    }
    groups
}

fn be<const LEN: usize>(number: usize) -> [u8; LEN] {
    number.to_be_bytes()[8 - LEN..].try_into().unwrap()
}
