//! Config images: the schedule of counters that a set of metrics needs, and how many passes it
//! takes.

use cudarc::cupti::sys;

use super::groups::partition;
use super::{ConfigProblem, Host, HostApi, Names, Object};
use crate::abi::Call;
use crate::image::Kind;
use crate::{Code, Failure};

impl Host {
    /// The config image of `names`, to collect them with. Deterministic for a chip, a CUPTI version
    /// and a list.
    ///
    /// # Errors
    /// [`ConfigProblem`]: every name that is not a metric at once, or which groups can be collected
    /// instead.
    pub fn config_image(&self, names: &[impl AsRef<str>]) -> Result<Vec<u8>, ConfigProblem> {
        if names.is_empty() {
            return Err(ConfigProblem::Empty);
        }
        match self.build(names) {
            Ok(image) => Ok(Kind::Config.seal(&image)),
            Err(failure) => Err(self.explain(names, failure)),
        }
    }

    /// How many passes a config image takes. One process, or one replay of the range, each.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for an image that is not one.
    pub fn passes(&self, config: &[u8]) -> Result<usize, Failure> {
        self.api.passes(config)
    }

    /// CUPTI's image of `names`, not sealed.
    pub(crate) fn build(&self, names: &[impl AsRef<str>]) -> Result<Vec<u8>, Failure> {
        let object = self.scratch()?;
        add(&object, names)?;
        let functions = self.api.functions;
        let mut size = Call::<sys::CUpti_Profiler_Host_GetConfigImageSize_Params>::new();
        size.fields().pHostObject = object.as_ptr();
        // SAFETY: a host function on a live object.
        unsafe { functions.host_config_size.call(&mut size) }?;
        // SAFETY: an integer that CUPTI wrote.
        let mut image = vec![0; unsafe { (*size.out()).configImageSize }];
        let mut call = Call::<sys::CUpti_Profiler_Host_GetConfigImage_Params>::new();
        call.fields().pHostObject = object.as_ptr();
        call.fields().configImageSize = image.len();
        call.fields().pConfigImage = image.as_mut_ptr();
        // SAFETY: a host function on a live object; the buffer has the size that CUPTI asked for.
        unsafe { functions.host_config.call(&mut call) }?;
        Ok(image)
    }

    /// The meaning of CUPTI's refusal, which names neither a metric nor a pair.
    fn explain(&self, names: &[impl AsRef<str>], failure: Failure) -> ConfigProblem {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let invalid: Vec<_> = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), self.validate(name).err()?)))
            .collect();
        if !invalid.is_empty() {
            return ConfigProblem::Invalid { names: invalid };
        }
        // Next to a GPU, CUPTI 13.0 refuses links with the other counters as an unknown error.
        if !matches!(failure.code, Code::NotSupported | Code::Unknown) {
            return ConfigProblem::Failed(failure);
        }
        let alone = |name: &&&str| self.build(&[**name]).is_err();
        let refused: Vec<String> = names.iter().filter(alone).map(|name| (*name).into()).collect();
        if refused.len() == names.len() && failure.code == Code::Unknown {
            return ConfigProblem::Failed(failure);
        }
        if !refused.is_empty() {
            return ConfigProblem::NotCollectable { names: refused, chip: self.chip().into() };
        }
        let groups = partition(&names, |group| self.build(group).is_ok());
        let owned = |group: Vec<&str>| group.into_iter().map(str::to_owned).collect();
        ConfigProblem::CannotCombine { groups: groups.into_iter().map(owned).collect() }
    }
}

impl HostApi {
    /// How many passes a config image takes.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] for an image that is not one.
    pub fn passes(&self, config: &[u8]) -> Result<usize, Failure> {
        let config = Kind::Config.unseal(config, &self.functions.host_passes)?;
        self.passes_of(&config)
    }

    /// How many passes a config image that is not sealed takes.
    pub(crate) fn passes_of(&self, config: &[u8]) -> Result<usize, Failure> {
        let mut call = Call::<sys::CUpti_Profiler_Host_GetNumOfPasses_Params>::new();
        call.fields().configImageSize = config.len();
        // The field is not const in cudarc; CUPTI only reads.
        call.fields().pConfigImage = config.as_ptr().cast_mut();
        // SAFETY: a host function; the image lives until it returns.
        unsafe { self.functions.host_passes.call(&mut call) }?;
        // SAFETY: an integer that CUPTI wrote.
        Ok(unsafe { (*call.out()).numOfPasses })
    }
}

fn add(object: &Object, names: &[impl AsRef<str>]) -> Result<(), Failure> {
    let mut names = Names::new(names);
    let mut call = Call::<sys::CUpti_Profiler_Host_ConfigAddMetrics_Params>::new();
    call.fields().pHostObject = object.as_ptr();
    call.fields().ppMetricNames = names.as_mut_ptr();
    call.fields().numMetrics = names.len();
    // SAFETY: a host function on a live object; the names live until it returns.
    unsafe { object.api.functions.host_add_metrics.call(&mut call) }
}
