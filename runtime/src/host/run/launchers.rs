//! The launchers of annotated kernels in a series function.
//!
//! Input: the type of a kernel. Output: a launcher. Each module is loaded once, and all launches
//! are in one log.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::CudaModule;
use gpuprof_model::protocol::MeasureRequest;

use crate::host::declaration;
use crate::host::error::Result;
use crate::host::launch::kernel_launcher::{EntryPoint, Kernel, KernelLauncher, RustEntry};
use crate::host::launch::log::LaunchLog;
use crate::host::session::{EntryName, ModuleName, Session};

/// The launchers of a run.
#[derive(Default)]
pub(crate) struct Launchers {
    pub(super) log: Rc<LaunchLog>,
    /// The modules by their names.
    modules: RefCell<BTreeMap<String, Arc<CudaModule>>>,
}

impl Launchers {
    /// Makes a launcher of the kernel `K`.
    ///
    /// # Errors
    /// The driver's, of loading the kernel; a declared kernel that was not compiled.
    pub(super) fn make<'a, K: Kernel>(
        &self,
        session: &'a Session,
        request: &MeasureRequest,
    ) -> Result<KernelLauncher<'a, K>> {
        let (name, declared) = match K::ENTRY {
            EntryPoint::Rust(RustEntry { package, symbol, place }) => {
                let module = ModuleName::Package(package);
                (EntryName { module, name: symbol, place }, None)
            }
            EntryPoint::Declared { module_path, kernel, key } => {
                let path = format!("{module_path}::{kernel}");
                let entry = declaration::launchable(request, &path, key)?;
                let module = ModuleName::Declared(&entry.module);
                (EntryName { module, name: &entry.symbol, place: "" }, Some(entry))
            }
        };
        let module = self.module(session, request, name.module)?;
        let kernel = session.load_kernel(request, module, name)?;
        if let Some(entry) = declared {
            self.log.name(&entry.symbol, &entry.shown);
        }
        Ok(KernelLauncher::new(session, kernel, declared.cloned(), self.log.clone()))
    }

    /// The module called `name`, loaded once.
    fn module(
        &self,
        session: &Session,
        request: &MeasureRequest,
        name: ModuleName<'_>,
    ) -> Result<Arc<CudaModule>> {
        let loaded = self.modules.borrow().get(name.key()).cloned();
        if let Some(module) = loaded {
            return Ok(module);
        }
        let (module, _) = session.load_module(request, name)?;
        self.modules.borrow_mut().insert(name.key().to_owned(), module.clone());
        Ok(module)
    }
}
