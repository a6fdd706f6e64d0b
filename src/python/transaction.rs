//! `Transaction`: edits of a repository's refs, made together.

use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use super::args::{self, Name};
use super::bulk::{bulk, stop_threads};
use super::edit::{self, Edit, Old};
use super::error::{errors, raise, to_py};
use super::plan::Plan;
use super::ref_store::RefStore;
use crate::fs::Patience;
use crate::model::{Expected, Verb};
use crate::store::{self, Durability, Live, Options, Placement, State};

/// Edits of a repository's refs: all are made, or, if anything goes wrong before the first is, none.
///
/// In a `with` block it commits on a clean exit and aborts on an exception. Edits are collected first; `prepare()` takes the
/// locks that git takes, compares what each ref holds under its lock with `old`, and writes everything aside; `commit()`
/// renames. So it is safe beside running git processes. Its object ids are hex or raw, or a direct `Ref`.
///
/// Options: `durability`: "git" waits for the disk where `core.fsync` says so (by default it does not), "full" for every
/// file and directory in the order that survives a loss of power, "none" never. `timeout`: seconds that each lock is waited
/// for, by default what git's configuration says (0.1 for a ref, 1 for packed-refs). `into`: "auto" puts new values where
/// git does, into loose refs; "packed" puts all of a batch into one rewrite of packed-refs, and one rename decides over
/// it. **With "packed" no other program may create refs meanwhile**: git finds a new `a/b` in the way of `a` by the
/// file system alone, and a name that is created in packed-refs only slips past that. `atomic=False`: edits that are
/// refused for their own sake are put into `rejected`, a `verify` among them, and the others are made; what no edit can be
/// blamed for, and what is not supported, stops all. `check=False`: new object ids need not exist, nor be commits under
/// `refs/heads/`.
///
/// Not yet, with an `UnsupportedError` before any lock is taken: refs in tables, symbolic refs, edits that git would log in
/// a reflog, repositories with a `reference-transaction` hook, a quarantine.
///
/// A commit that the system stops halfway (a full disk, say) can leave some of several loose refs changed, as in git: each
/// has its old or its new value. Not for sharing between threads: a second one gets a `TransactionStateError`.
#[pyclass(frozen, weakref, module = "refspan")]
pub(crate) struct Transaction {
    inner: Arc<Mutex<store::Transaction>>,
    rejected: Mutex<Vec<(Py<Edit>, Py<PyAny>)>>,
}

/// Those that were prepared: what holds locks must not outlive the interpreter.
static PREPARED: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// One of them, and the process that it is in: a child that was forked has no part in it.
type Entry = (Weak<Mutex<store::Transaction>>, u32);

/// How long another thread that is at work is waited for when the interpreter ends.
const PATIENCE: Duration = Duration::from_secs(2);

/// Aborts what is prepared; for the end of the interpreter.
#[pyfunction]
pub(super) fn abort_all(py: Python<'_>) {
    stop_threads();
    let Ok(mut prepared) = PREPARED.try_lock() else { return };
    let ours = prepared.drain(..).filter(|(_, process)| *process == process::id());
    let all: Vec<_> = ours.filter_map(|(weak, _)| weak.upgrade()).collect();
    drop(prepared);
    py.detach(|| {
        let start = Instant::now();
        for transaction in all {
            while let Err(TryLockError::WouldBlock) = transaction.try_lock().map(|mut held| held.abort()) {
                if start.elapsed() > PATIENCE {
                    break;
                }
                sleep(Duration::from_millis(1));
            }
        }
    });
}

/// Has it called when the interpreter ends: what holds locks then may never be dropped. In the first interpreter that there is
/// alone: when another one ends, this one and its threads go on.
pub(super) fn abort_at_exit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    if IS_REGISTERED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let abort = module.getattr("abort_all")?;
    module.py().import("atexit")?.call_method1("register", (abort,)).map(|_| ())
}

/// The options, as Python spells them.
pub(super) fn options(
    durability: &str,
    timeout: Option<f64>,
    into: &str,
    atomic: bool,
    check: bool,
) -> PyResult<Options> {
    let wrong = |text: String| Err(PyValueError::new_err(text));
    let durability = match durability {
        "git" => Durability::Git,
        "full" => Durability::Full,
        "none" => Durability::Nothing,
        other => return wrong(format!("durability is 'git', 'full' or 'none', not {other:?}")),
    };
    let placement = match into {
        "auto" => Placement::Loose,
        "packed" => Placement::Packed,
        other => return wrong(format!("into is 'auto' or 'packed', not {other:?}")),
    };
    let patience = match timeout {
        None => None,
        Some(seconds) if seconds.is_nan() || seconds < 0.0 => {
            return wrong(format!("timeout is a number of seconds, not {seconds}"));
        }
        // What no clock can count is for ever.
        Some(seconds) => Some(Duration::try_from_secs_f64(seconds).map_or(Patience::Forever, Patience::For)),
    };
    Ok(Options { placement, durability, patience, checks_objects: check, is_atomic: atomic })
}

impl Transaction {
    fn new(live: Arc<Live>, options: Options) -> Self {
        let inner = Arc::new(Mutex::new(store::Transaction::new(live, options)));
        Self { inner, rejected: Mutex::default() }
    }

    /// On the repository of a store.
    pub(super) fn of(store: &Bound<'_, RefStore>, options: Options) -> PyResult<Self> {
        let live = RefStore::live(store).ok_or_else(|| PyValueError::new_err("not a repository"))?;
        Ok(Self::new(live, options))
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, store::Transaction>> {
        match self.inner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(raise(py, "TransactionStateError", ("another thread is using the transaction",)))
            }
        }
    }

    fn push(&self, py: Python<'_>, edit: crate::model::Edit) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        inner.apply(vec![edit], &mut || true).map_err(|error| to_py(py, error))
    }

    fn prepare_locked(&self, py: Python<'_>, inner: &mut store::Transaction) -> PyResult<()> {
        {
            let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
            prepared.retain(|(weak, _)| weak.strong_count() > 0);
            prepared.push((Arc::downgrade(&self.inner), process::id()));
        }
        bulk(py, |interrupt| inner.prepare(interrupt))?;
        let rejected: Vec<_> = inner
            .take_rejected()
            .into_iter()
            .filter_map(|(number, error)| Some((inner.edits().get(number)?.clone(), error)))
            .collect();
        let ours = errors(py)?.getattr("Error")?;
        let made = rejected.into_iter().map(|(edit, error)| {
            let error = to_py(py, error);
            // While it is made a signal may raise another one, which is no reason for anything.
            if error.value(py).is_instance(&ours)? {
                Ok((Py::new(py, Edit::from(edit))?, error.into_value(py).into_any()))
            } else {
                Err(error)
            }
        });
        let made = made.collect::<PyResult<Vec<_>>>();
        if made.is_err() {
            inner.abort().map_err(|error| to_py(py, error))?;
        }
        let made = made?;
        *self.rejected.lock().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(())
    }

    fn commit_locked(&self, py: Python<'_>, inner: &mut store::Transaction) -> PyResult<()> {
        if inner.state() == State::Open {
            self.prepare_locked(py, inner)?;
        }
        bulk(py, |_| inner.commit())
    }
}

fn name_of(state: State) -> &'static str {
    match state {
        State::Open => "open",
        State::Prepared => "prepared",
        State::Committed => "committed",
        State::Aborted => "aborted",
    }
}

#[pymethods]
impl Transaction {
    #[new]
    #[pyo3(signature = (repository, *, durability="git", timeout=None, into="auto", atomic=true, check=true))]
    fn py_new(
        repository: &Bound<'_, PyAny>,
        durability: &str,
        timeout: Option<f64>,
        into: &str,
        atomic: bool,
        check: bool,
    ) -> PyResult<Self> {
        let options = options(durability, timeout, into, atomic, check)?;
        if let Ok(store) = repository.cast::<RefStore>() {
            return Self::of(store, options);
        }
        let path = args::path(repository.extract::<PathBuf>()?)?;
        let live = bulk(repository.py(), |_| Live::open(Some(&path), None))?;
        Ok(Self::new(Arc::new(live), options))
    }

    /// Create a ref: it must not exist.
    fn create(&self, py: Python<'_>, name: Name<'_>, new: &Bound<'_, PyAny>) -> PyResult<()> {
        let new = edit::oid(new, name.as_bytes())?;
        self.push(py, edit::made(Verb::Create, name.as_bytes(), Some(new), Expected::Absent)?)
    }

    /// Set a ref. `old`: what it must hold, None for nothing, by default `ANY`.
    ///
    /// The commit raises `StaleError` if it holds something else, `RefNotFoundError` if it is gone, and for None
    /// `RefExistsError` if it exists.
    #[pyo3(signature = (name, new, old=Old::Any), text_signature = "($self, name, new, old=...)")]
    fn update(&self, py: Python<'_>, name: Name<'_>, new: &Bound<'_, PyAny>, old: Old<'_>) -> PyResult<()> {
        let new = edit::oid(new, name.as_bytes())?;
        let old = old.expected(name.as_bytes())?;
        self.push(py, edit::made(Verb::Update, name.as_bytes(), Some(new), old)?)
    }

    /// Delete a ref, loose and packed. With `old` it must hold that; without, it need not exist.
    ///
    /// A badly named ref can be deleted too, if a path can be built from its name, or as a packed record.
    #[pyo3(signature = (name, old=Old::Any), text_signature = "($self, name, old=...)")]
    fn delete(&self, py: Python<'_>, name: Name<'_>, old: Old<'_>) -> PyResult<()> {
        let old = old.expected(name.as_bytes())?;
        self.push(py, edit::made(Verb::Delete, name.as_bytes(), None, old)?)
    }

    /// Change nothing, but have the commit fail unless the ref holds `old`; None: unless it does not exist.
    #[pyo3(signature = (name, old))]
    fn verify(&self, py: Python<'_>, name: Name<'_>, old: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let old = edit::expected(old.as_ref(), name.as_bytes())?;
        self.push(py, edit::made(Verb::Verify, name.as_bytes(), None, old)?)
    }

    /// Add many edits: `Edit`s, or tuples `(verb, name, new, old)`. All of them, or, if one is wrong, none.
    fn apply(&self, py: Python<'_>, edits: &Bound<'_, PyAny>) -> PyResult<()> {
        // Whatever yields them may use this transaction meanwhile.
        let edits = edit::edits(edits)?;
        let inner = &mut *self.lock(py)?;
        bulk(py, |interrupt| inner.apply(edits, interrupt))
    }

    /// What a commit would do: before it is prepared, as things are now and if no edit is refused.
    fn plan(&self, py: Python<'_>) -> PyResult<Plan> {
        let inner = &*self.lock(py)?;
        bulk(py, |interrupt| inner.plan(interrupt)).map(Plan::from)
    }

    /// Take the locks, compare, and write aside what is new.
    ///
    /// Raises the error of the first edit that is refused: `RefExistsError`, `RefNotFoundError`, `StaleError`,
    /// `ConflictError`, `InvalidValueError`, `LockedError`; for all of them `LockedError` if packed-refs is locked,
    /// `CorruptError`, `UnsupportedError`, `OSError`, `TransactionStateError` for a ref edited twice. Then nothing is
    /// changed and no lock is held. O(edits x log refs) comparisons; if packed-refs is rewritten, one pass over its
    /// bytes. Ctrl-C works.
    fn prepare(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        self.prepare_locked(py, &mut inner)
    }

    /// Make the edits; prepares first if that was not done. Ctrl-C waits until it is done.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let mut inner = self.lock(py)?;
        self.commit_locked(py, &mut inner)
    }

    /// Release the locks and forget the edits. May be repeated; raises `TransactionStateError` after a commit.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let inner = &mut *self.lock(py)?;
        bulk(py, |_| inner.abort())
    }

    /// "open", "prepared", "committed" or "aborted".
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(name_of(self.lock(py)?.state()))
    }

    /// With `atomic=False`: the edits that were refused, each with its exception, in the order they were given.
    #[getter]
    fn rejected(&self, py: Python<'_>) -> Vec<(Py<Edit>, Py<PyAny>)> {
        let rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        rejected.iter().map(|(edit, error)| (edit.clone_ref(py), error.clone_ref(py))).collect()
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        exception: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let inner = &mut *self.lock(py)?;
        match inner.state() {
            State::Open | State::Prepared if exception.is_none() => self.commit_locked(py, inner)?,
            State::Open | State::Prepared => bulk(py, |_| inner.abort())?,
            State::Committed | State::Aborted => {}
        }
        Ok(false)
    }

    /// The exceptions may have been raised, and then hold the frames that hold this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(rejected) = self.rejected.try_lock() else { return Ok(()) };
        rejected.iter().try_for_each(|(edit, error)| visit.call(edit).and_then(|()| visit.call(error)))
    }

    fn __clear__(&self) {
        if let Ok(mut rejected) = self.rejected.try_lock() {
            rejected.clear();
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Ok(inner) = self.lock(py) else { return Ok("<Transaction in use>".to_owned()) };
        let state = name_of(inner.state());
        let repository = inner.live().repository();
        let path = repository.location.git_dir().as_os_str().into_pyobject(py)?.repr()?;
        Ok(format!("<Transaction {path} {state}, {} edits>", inner.edits().len()))
    }
}
