//! A client that loads the library like NVTX's headers.

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};

use super::*;
use crate::abi::{ASCII, REGISTERED, UNICODE};
use crate::listener::{Event, nvtx_listen};

/// The function pointers of a copy of the headers, and the pointers to them by number.
struct Client {
    functions: UnsafeCell<[Function; 16]>,
    table: UnsafeCell<[*mut Function; 17]>,
}

// SAFETY: one test uses both clients.
unsafe impl Sync for Client {}

impl Client {
    const fn new() -> Self {
        let functions = UnsafeCell::new([std::ptr::null(); 16]);
        Self { functions, table: UnsafeCell::new([std::ptr::null_mut(); 17]) }
    }

    /// The function with this number.
    fn function(&self, number: usize) -> Function {
        // SAFETY: nothing writes any more.
        unsafe { (*self.functions.get())[number] }
    }
}

static OF_CORE: Client = Client::new();
static OF_CORE2: Client = Client::new();

unsafe extern "C" fn module(number: c_int, out: *mut FunctionTable, size: *mut c_uint) -> c_int {
    let client = match number {
        CORE => &OF_CORE,
        CORE2 => &OF_CORE2,
        _ => return 0,
    };
    // SAFETY: both places are valid; number 0 has no function.
    unsafe {
        for at in 1..16 {
            (*client.table.get())[at] = (*client.functions.get()).as_mut_ptr().add(at);
        }
        out.write(client.table.get().cast());
        size.write(16);
    }
    1
}

static CALLBACKS_TABLE: Callbacks = Callbacks { struct_size: 16, module };

unsafe extern "C" fn tables(number: u32) -> *const c_void {
    if number == CALLBACKS { (&raw const CALLBACKS_TABLE).cast() } else { std::ptr::null() }
}

unsafe extern "C" fn no_tables(_: u32) -> *const c_void {
    std::ptr::null()
}

unsafe extern "C" fn hear(data: *mut c_void, event: *const Event) {
    // SAFETY: the test's list; the event lives.
    let (heard, event) = unsafe { (&mut *data.cast::<Vec<(u64, String)>>(), &*event) };
    let path = match event.path.is_null() {
        true => "end".to_owned(),
        // SAFETY: a text of the library.
        false => unsafe { CStr::from_ptr(event.path) }.to_string_lossy().into_owned(),
    };
    heard.push((event.id, path));
}

fn event(message_type: i32, message: *const c_void) -> EventAttributes {
    let (version, size, category, color_type, color) = (3, 48, 0, 0, 0);
    let (payload_type, reserved, payload) = (0, 0, 0);
    EventAttributes {
        version,
        size,
        category,
        color_type,
        color,
        payload_type,
        reserved,
        payload,
        message_type,
        message,
    }
}

type PushA = unsafe extern "C" fn(*const Narrow) -> c_int;
type Pop = extern "C" fn() -> c_int;
type StartW = unsafe extern "C" fn(*const Wide) -> u64;
type End = extern "C" fn(u64);
type DomainPush = unsafe extern "C" fn(*const c_void, *const EventAttributes) -> c_int;
type DomainPop = extern "C" fn(*const c_void) -> c_int;
type Register = unsafe extern "C" fn(*const c_void, *const Narrow) -> *const c_void;
type CreateA = unsafe extern "C" fn(*const Narrow) -> *const c_void;

#[test]
fn a_client_of_the_headers_has_its_ranges_reported_with_their_domains_and_nests() {
    // SAFETY: the functions have the types of their numbers; all texts end with a zero.
    unsafe {
        assert_eq!(InitializeInjectionNvtx2(no_tables), 0);
        assert_eq!(InitializeInjectionNvtx2(tables), 1);
        let push: PushA = std::mem::transmute(OF_CORE.function(9));
        let pop: Pop = std::mem::transmute(OF_CORE.function(11));
        let start: StartW = std::mem::transmute(OF_CORE.function(6));
        let end: End = std::mem::transmute(OF_CORE.function(7));
        let domain_push: DomainPush = std::mem::transmute(OF_CORE2.function(4));
        let domain_pop: DomainPop = std::mem::transmute(OF_CORE2.function(5));
        let register: Register = std::mem::transmute(OF_CORE2.function(10));
        let create: CreateA = std::mem::transmute(OF_CORE2.function(12));
        // Marks and names of categories have no function: the headers do nothing then.
        assert!(OF_CORE.function(2).is_null() && OF_CORE2.function(8).is_null());

        assert_eq!(push(c"before".as_ptr()), 0);
        let mut heard: Vec<(u64, String)> = Vec::new();
        nvtx_listen(Some(hear), (&raw mut heard).cast());
        assert_eq!(push(c"inner".as_ptr()), 1);
        let domain = create(c"lib".as_ptr());
        let other = std::thread::spawn({
            let domain = domain as usize;
            move || {
                let text = CString::new("other").unwrap();
                let of_other = event(ASCII, text.as_ptr().cast());
                domain_push(domain as *const c_void, &raw const of_other);
                domain_pop(domain as *const c_void)
            }
        });
        assert_eq!(other.join().unwrap(), 0);
        let registered = register(domain, c"registered".as_ptr());
        assert_eq!(domain_push(domain, &raw const *Box::new(event(REGISTERED, registered))), 0);
        let wide: [Wide; 3] = ['w'.into(), '€'.into(), 0];
        let of_wide = event(UNICODE, wide.as_ptr().cast());
        assert_eq!(domain_push(domain, &raw const of_wide), 1);
        let started = start(wide.as_ptr());
        // The inner stack of another domain is its own.
        assert_eq!((pop(), domain_pop(domain), domain_pop(domain)), (1, 1, 0));
        assert_eq!(domain_pop(domain), NOTHING);
        end(started);
        nvtx_listen(None, std::ptr::null_mut());
        pop();

        let told: Vec<&str> = heard.iter().map(|(_, path)| path.as_str()).collect();
        let begins = ["before/inner", "lib@other", "end", "lib@registered", "lib@registered/w€"];
        assert_eq!(told[..5], begins);
        assert_eq!(told[5..], ["w€", "end", "end", "end", "end"]);
        let of = |path: &str| heard.iter().find(|(_, known)| known == path).unwrap().0;
        let ends: Vec<u64> = heard[6..].iter().map(|(id, _)| *id).collect();
        let inner = of("lib@registered/w€");
        assert_eq!(ends, [of("before/inner"), inner, of("lib@registered"), of("w€")]);
    }
}
