//! Repositories that git made, and what is in them.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use refspan::model::{Edit, Expected, Oid, Verb};
use tempfile::TempDir;

/// What git is run with, whatever the machine's configuration says.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_AUTHOR_NAME", "Author"),
    ("GIT_AUTHOR_EMAIL", "author@example.com"),
    ("GIT_AUTHOR_DATE", "1700000000 +0000"),
    ("GIT_COMMITTER_NAME", "Committer"),
    ("GIT_COMMITTER_EMAIL", "committer@example.com"),
    ("GIT_COMMITTER_DATE", "1700000000 +0000"),
    ("LC_ALL", "C"),
];

/// What git prints there, without the last LF; it must succeed.
pub(crate) fn git(repo: &Path, args: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(repo)
        .args(args)
        .env_clear()
        .envs(ENVIRONMENT)
        .envs(env::var_os("PATH").map(|path| ("PATH", path)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A directory in memory, if there is a place for that: nothing here is meant to survive anything.
pub(crate) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Object ids by refname.
pub(crate) type Values = BTreeMap<String, String>;

/// A repository that git made, to be copied for each run.
pub(crate) struct Template {
    path: PathBuf,
    /// Goes with it, if it was made here.
    _dir: Option<TempDir>,
    pub(crate) commits: Vec<String>,
    /// Annotated tags of the first two commits.
    pub(crate) tags: Vec<String>,
}

/// Names of which each is packed, loose, or both; `{}` stands for what is done with it.
const PLACES: [&str; 4] =
    ["refs/heads/packed/{}", "refs/heads/both/{}", "refs/heads/loose/{}", "refs/other/deep/er/{}"];

impl Template {
    pub(crate) fn new() -> Self {
        let dir = directory();
        let path = dir.path().to_owned();
        git(&path, &["init", "-q", "--bare", "-b", "main", "--template=", "."], "");
        let tree = git(&path, &["mktree"], "");
        let commit = |number: u8| git(&path, &["commit-tree", "-m", &number.to_string(), &tree], "");
        let commits: Vec<_> = (0..4).map(commit).collect();
        let tag = |of: &String| {
            let text = format!("object {of}\ntype commit\ntag t\ntagger T <t@example.com> 1700000000 +0000\n\nt\n");
            git(&path, &["mktag"], &text)
        };
        let tags = commits[..2].iter().map(tag).collect();
        let template = Self { path, _dir: Some(dir), commits, tags };
        let create = |places: &[&str], value: &str| {
            let names = ["update", "delete", "verify", "stay"];
            let line =
                |place: &&str| names.map(|name| format!("update {} {value}\n", place.replace("{}", name))).concat();
            git(template.path(), &["update-ref", "--stdin"], &places.iter().map(line).collect::<String>());
        };
        create(&PLACES[..2], &template.commits[0]);
        git(template.path(), &["update-ref", "refs/tags/packed", &template.tags[0]], "");
        git(template.path(), &["update-ref", "refs/tags/stay", &template.tags[1]], "");
        git(template.path(), &["pack-refs", "--all"], "");
        create(&PLACES[1..], &template.commits[1]);
        git(template.path(), &["update-ref", "refs/tags/loose", &template.tags[0]], "");
        git(template.path(), &["update-ref", "refs/heads/main", &template.commits[0]], "");
        template
    }

    /// Where it is and what is in it, as a text for another process.
    pub(crate) fn described(&self) -> String {
        [&[self.path.to_str().unwrap().to_owned()], &self.commits[..], &self.tags].concat().join("\n")
    }

    /// The one that was described so.
    pub(crate) fn of(description: &str) -> Self {
        let mut words = description.split('\n').map(str::to_owned);
        let path = words.next().unwrap().into();
        Self { path, _dir: None, commits: words.by_ref().take(4).collect(), tags: words.collect() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What an object peels to, if it is a tag.
    pub(crate) fn peeled(&self, oid: &str) -> Option<&String> {
        self.tags.iter().zip(&self.commits).find(|(tag, _)| *tag == oid).map(|(_, commit)| commit)
    }

    /// A packed-refs file with these values, as git writes it.
    pub(crate) fn packed_refs(&self, values: &Values) -> String {
        let mut text = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
        for (name, oid) in values {
            text.extend([oid, " ", name, "\n"]);
            text.extend(self.peeled(oid).map(|oid| format!("^{oid}\n")));
        }
        text
    }

    /// Edits of every kind, of refs in every place.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        let oid = |hex: &str| Oid::from_hex(hex.as_bytes()).unwrap();
        let edit = |verb, name: &str, new: Option<&String>, old| {
            let new = new.map(|hex| oid(hex));
            Edit { verb, name: name.as_bytes().to_vec(), new, old }
        };
        let [c0, c1, c2, _] = &self.commits[..] else { unreachable!() };
        let mut edits = vec![
            edit(Verb::Verify, "refs/heads/none", None, Expected::Absent),
            edit(Verb::Create, "refs/heads/new", Some(c2), Expected::Absent),
            edit(Verb::Create, "refs/heads/fresh/deep/er/new", Some(c2), Expected::Absent),
            edit(Verb::Create, "refs/tags/new", Some(&self.tags[1]), Expected::Absent),
            edit(Verb::Update, "refs/tags/packed", Some(&self.tags[1]), Expected::Any),
            edit(Verb::Delete, "refs/tags/loose", None, Expected::Oid(oid(&self.tags[0]))),
        ];
        for (place, old) in PLACES.into_iter().zip([c0, c1, c1, c1]) {
            let old = Expected::Oid(oid(old));
            edits.push(edit(Verb::Update, &place.replace("{}", "update"), Some(c2), old));
            edits.push(edit(Verb::Delete, &place.replace("{}", "delete"), None, old));
            edits.push(edit(Verb::Verify, &place.replace("{}", "verify"), None, old));
        }
        edits
    }
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// What a transaction holds while it is under way, and should not leave behind.
pub(crate) fn leftovers(repo: &Path) -> Vec<PathBuf> {
    let is_one =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "lock") || path.ends_with("packed-refs.new");
    files(repo).into_iter().filter(is_one).collect()
}

/// The loose refs below `refs/`; none has a dot in its name.
pub(crate) fn loose(repo: &Path) -> Values {
    let mut values = Values::new();
    for path in files(&repo.join("refs")) {
        if path.extension().is_none() {
            let name = path.strip_prefix(repo).unwrap().to_str().unwrap();
            values.insert(name.to_owned(), fs::read_to_string(&path).unwrap().trim_end().to_owned());
        }
    }
    values
}

/// The packed refs.
pub(crate) fn packed(repo: &Path) -> Values {
    let text = fs::read_to_string(repo.join("packed-refs")).unwrap();
    let records = text.lines().filter(|line| !line.starts_with(['#', '^']));
    records.map(|line| line.split_once(' ').unwrap()).map(|(oid, name)| (name.to_owned(), oid.to_owned())).collect()
}

/// The refs that git lists.
pub(crate) fn git_values(repo: &Path) -> Values {
    let listing = git(repo, &["for-each-ref", "--format=%(objectname) %(refname)"], "");
    listing
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(oid, name)| (name.to_owned(), oid.to_owned()))
        .collect()
}
