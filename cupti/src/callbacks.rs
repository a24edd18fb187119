//! CUPTI's callbacks.
//!
//! Input: a CUPTI, and the events of the process while a [`Subscription`] lives. Output: a
//! [`Listener`] that has heard those of its domain. CUPTI has one subscriber at a time: under a
//! profiler or a debugger there cannot be another.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::one_at_a_time;
use crate::driver::{self, DriverProblem};
use crate::locate::NotFound;
use crate::{Failure, HostApi, LoadError};

/// Why the process cannot be watched, or activities recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// The driver that CUPTI would use is not there.
    #[error("{0}")]
    Driver(#[from] DriverProblem),
    /// No CUPTI.
    #[error("{0}")]
    NotFound(#[from] NotFound),
    /// A CUPTI without the functions for it.
    #[error("{0}")]
    Load(#[from] LoadError),
    /// CUPTI refuses.
    #[error("{0}")]
    Failed(#[from] Failure),
}

/// Hears callbacks of one domain.
pub(crate) trait Listener: Default + Send + 'static {
    /// CUPTI's number of the domain.
    const DOMAIN: u32;

    /// Hears the callback `id` with its data.
    ///
    /// # Safety
    /// `data` is CUPTI's for this callback of the domain, and lives until this returns.
    unsafe fn hear(&mut self, id: u32, data: *const c_void);
}

/// Has a listener hear all threads of this process until it is dropped.
pub(crate) struct Subscription<L: 'static> {
    functions: Functions,
    subscriber: Subscriber,
    /// Leaked: a callback on another thread may still be using it.
    listener: &'static Mutex<L>,
}

impl<L: Listener> Subscription<L> {
    /// Begins to hear.
    ///
    /// # Errors
    /// [`crate::Code::MultipleSubscribersNotSupported`] if there is another subscriber; no NVIDIA
    /// driver.
    pub(crate) fn begin(api: HostApi) -> Result<Self, WatchError> {
        driver::probe_nvidia()?;
        let functions = Functions::load(api)?;
        let listener: &'static Mutex<L> = Box::leak(Box::default());
        let alone = one_at_a_time();
        let (mut subscriber, data) = (ptr::null_mut(), ptr::from_ref(listener).cast_mut().cast());
        // SAFETY: a driver answers; it writes a handle, and the callback has the type that CUPTI
        // calls, with data that lives for ever.
        let code = unsafe { (functions.subscribe)(&raw mut subscriber, called::<L>, data) };
        Failure::check("cuptiSubscribe", code)?;
        let subscription = Self { functions, subscriber, listener };
        // SAFETY: the subscriber is live.
        let code = unsafe { (functions.enable_domain)(1, subscriber, L::DOMAIN) };
        if let Err(failure) = Failure::check("cuptiEnableDomain", code) {
            drop(alone);
            drop(subscription);
            return Err(failure.into());
        }
        Ok(subscription)
    }
}

impl<L> Subscription<L> {
    /// The listener, which hears nothing while the guard lives.
    pub(crate) fn listener(&self) -> MutexGuard<'static, L> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L> Drop for Subscription<L> {
    fn drop(&mut self) {
        let _alone = one_at_a_time();
        // SAFETY: the subscriber is live, and this is its last use. A failure changes nothing.
        let _ = unsafe { (self.functions.unsubscribe)(self.subscriber) };
    }
}

/// The callback.
unsafe extern "C" fn called<L: Listener>(
    listener: *mut c_void,
    domain: u32,
    id: u32,
    data: *const c_void,
) {
    if domain != L::DOMAIN || data.is_null() {
        return;
    }
    // SAFETY: the pointer that `begin` gave CUPTI; its target lives for ever.
    let listener = unsafe { &*listener.cast::<Mutex<L>>() };
    let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: CUPTI's data for this callback.
    unsafe { listener.hear(id, data) };
}

type Subscriber = *mut c_void;
type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);

/// The functions of CUPTI used here: they take no structs, so they are not parameter functions
/// (`abi`).
#[derive(Clone, Copy)]
struct Functions {
    subscribe: unsafe extern "C" fn(*mut Subscriber, Callback, *mut c_void) -> u32,
    unsubscribe: unsafe extern "C" fn(Subscriber) -> u32,
    enable_domain: unsafe extern "C" fn(u32, Subscriber, u32) -> u32,
}

impl Functions {
    fn load(api: HostApi) -> Result<Self, LoadError> {
        let library = api.library;
        let missing = |symbol| api.missing(symbol);
        // SAFETY: the types are those of cupti_callbacks.h, with its enums as the integers that
        // they are.
        unsafe {
            Ok(Self {
                subscribe: library.symbol("cuptiSubscribe").map_err(missing)?,
                unsubscribe: library.symbol("cuptiUnsubscribe").map_err(missing)?,
                enable_domain: library.symbol("cuptiEnableDomain").map_err(missing)?,
            })
        }
    }
}
