//! Generated packed-refs files: the same in each run.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;

use refspan::model::HashKind;

const ROUNDS: u64 = 300;
pub(crate) const SORTED: &[u8] = b"# pack-refs with: peeled fully-peeled sorted \n";

/// Marsaglia's xorshift: the same numbers in each run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(round: u64) -> Self {
        Self((round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a [u8]]) -> &'a [u8] {
        from[self.below(from.len())]
    }

    /// Few enough that refs share them, and with long runs of one digit or of none.
    pub(crate) fn oid(&mut self, hash: HashKind) -> Vec<u8> {
        let digits =
            self.pick(&[b"0", b"a", b"1a", b"abcdef", b"1234567890abcdef", b"ABCDEF12", b"aaaaaaaaa1", b"77777f"]);
        digits.iter().copied().cycle().take(hash.hex_len()).collect()
    }

    /// A name of components whose order is easily got wrong: `a-` < `a.` < `a/` < `a0`; now and then one like an oid.
    pub(crate) fn name(&mut self, hash: HashKind) -> Vec<u8> {
        let mut name = self.pick(&[b"refs/heads", b"refs/tags", b"refs", b"a"]).to_vec();
        for _ in 0..self.below(4) {
            name.extend_from_slice(self.pick(&[b"/a", b"/b", b"/ab", b"-", b".x", b"0", b"/\xb1", b"/z", b"\x01"]));
        }
        if self.below(10) == 0 {
            name.push(b'/');
            name.extend(self.oid(hash));
        }
        name
    }
}

/// A ref by its three fields, as bytes.
pub(crate) type Ref = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// Refs with distinct names, in order.
pub(crate) fn generate(random: &mut Random, hash: HashKind) -> Vec<Ref> {
    let mut refs = BTreeMap::new();
    for _ in 0..random.below(60) {
        let peeled = if random.below(3) == 0 { Some(random.oid(hash)) } else { None };
        refs.insert(random.name(hash), (random.oid(hash), peeled));
    }
    refs.into_iter().map(|(name, (oid, peeled))| (name, oid, peeled)).collect()
}

/// So many refs or fewer, with distinct names in order: most are short, a few longer than what a reader reads at a time.
pub(crate) fn generate_many(random: &mut Random, hash: HashKind, count: usize, longest: usize) -> Vec<Ref> {
    let mut refs = BTreeMap::new();
    for _ in 0..count {
        let mut name = [random.name(hash), format!("/{:04}", random.below(10_000)).into_bytes()].concat();
        if random.below(count) < 3 {
            name.resize(1 + random.below(longest), b'l');
        }
        let peeled = if random.below(4) == 0 { Some(random.oid(hash)) } else { None };
        refs.insert(name, (random.oid(hash), peeled));
    }
    refs.into_iter().map(|(name, (oid, peeled))| (name, oid, peeled)).collect()
}

/// The same refs, one in so many of them several times, up to `most`.
pub(crate) fn with_duplicates(
    random: &mut Random,
    hash: HashKind,
    refs: Vec<Ref>,
    one_in: usize,
    most: usize,
) -> Vec<Ref> {
    let mut all = Vec::new();
    for (name, oid, peeled) in refs {
        let copies = if random.below(one_in) == 0 { random.below(most) } else { 0 };
        for _ in 0..copies {
            all.push((name.clone(), random.oid(hash), None));
        }
        all.push((name, oid, peeled));
    }
    all
}

/// Records one after the other, behind a header.
pub(crate) fn write(header: &[u8], refs: &[Ref]) -> Vec<u8> {
    let mut data = header.to_vec();
    for (name, oid, peeled) in refs {
        data.extend_from_slice(&[oid, &b" "[..], name, b"\n"].concat());
        if let Some(peeled) = peeled {
            data.extend_from_slice(&[b"^", &peeled[..], b"\n"].concat());
        }
    }
    data
}

/// Calls `check` with many generated files, of both hashes.
pub(crate) fn for_each_file(check: impl Fn(&mut Random, HashKind, Vec<Ref>)) {
    for round in 0..ROUNDS {
        let mut random = Random::new(round);
        let hash = HashKind::ALL[random.below(2)];
        let refs = generate(&mut random, hash);
        check(&mut random, hash, refs);
    }
}
