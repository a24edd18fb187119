//! Counter data images: the ranges that they hold and the values of metrics over them.
//!
//! CUPTI has two functions for a range's name. The one of the range profiler answers 15 where no
//! GPU was initialised (12.6 to 13.1); the host API's does not depend on one. Both are tried, in
//! that order.

use std::ffi::c_void;

use cudarc::cupti::sys;

use super::{Host, HostApi, MetricProblem, Names, string};
use crate::abi::Call;
use crate::image::Kind;
use crate::{Code, Failure};

/// Why metrics have no values in a counter data image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// A name that is not a metric of this chip.
    #[error("{0}")]
    Metric(#[from] MetricProblem),
    /// CUPTI failed: the image is not one, is of another chip, or has no such range.
    #[error("{0}")]
    Failed(#[from] Failure),
}

impl Host {
    /// The values of `names` over range `range_index` of a counter data image, in request order. A
    /// metric without counters in the image is NaN.
    ///
    /// # Errors
    /// [`EvaluateError::Metric`] for a name that the chip does not have, [`EvaluateError::Failed`]
    /// for CUPTI's error on the image.
    pub fn evaluate(
        &mut self,
        counter_data: &[u8],
        range_index: usize,
        names: &[impl AsRef<str>],
    ) -> Result<Vec<f64>, EvaluateError> {
        let function = &self.api.functions.host_evaluate;
        let counter_data = Kind::CounterData.unseal(counter_data, function)?;
        self.values(&counter_data, range_index, names)
    }

    /// As [`Self::evaluate`], of an image that is not sealed.
    pub(crate) fn values(
        &mut self,
        counter_data: &[u8],
        range_index: usize,
        names: &[impl AsRef<str>],
    ) -> Result<Vec<f64>, EvaluateError> {
        let function = &self.api.functions.host_evaluate;
        let mut c_names = Names::new(names);
        let mut values = vec![f64::NAN; names.len()];
        let mut call = Call::<sys::CUpti_Profiler_Host_EvaluateToGpuValues_Params>::new();
        let fields = call.fields();
        fields.pHostObject = self.object.as_ptr();
        fields.pCounterDataImage = counter_data.as_ptr();
        fields.counterDataImageSize = counter_data.len();
        fields.rangeIndex = range_index;
        fields.ppMetricNames = c_names.as_mut_ptr();
        fields.numMetrics = c_names.len();
        fields.pMetricValues = values.as_mut_ptr();
        // SAFETY: a host function on a live object; image and names live until it returns, and it
        // writes one value a name.
        match unsafe { function.call(&mut call) } {
            Ok(()) => Ok(values),
            Err(failure) => {
                for name in names {
                    self.validate(name.as_ref())?;
                }
                Err(failure.into())
            }
        }
    }
}

impl HostApi {
    /// How many ranges a counter data image holds.
    ///
    /// # Errors
    /// Whatever CUPTI answers; on a machine without a GPU the ranges are counted by asking for one
    /// name after the other.
    pub fn range_count(&self, counter_data: &[u8]) -> Result<usize, Failure> {
        let image = Kind::CounterData.unseal(counter_data, &self.functions.range_count)?;
        let mut call = Call::<sys::CUpti_RangeProfiler_GetCounterDataInfo_Params>::new();
        call.fields().pCounterDataImage = image.as_ptr();
        call.fields().counterDataImageSize = image.len();
        // SAFETY: it reads the image, which lives until it returns, and answers 15 without a GPU
        // (seen).
        match unsafe { self.functions.range_count.call(&mut call) } {
            // SAFETY: an integer that CUPTI wrote.
            Ok(()) => Ok(unsafe { (*call.out()).numTotalRanges }),
            Err(Failure { code: Code::NotInitialized, .. }) => self.count_by_name(counter_data),
            Err(failure) => Err(failure),
        }
    }

    /// The name of range `index`; nested ranges are joined by `/`.
    ///
    /// # Errors
    /// Whatever CUPTI answers for an image that is not one, or an index past its ranges.
    pub fn range_name(&self, counter_data: &[u8], index: usize) -> Result<String, Failure> {
        let image = Kind::CounterData.unseal(counter_data, &self.functions.range_name)?;
        let mut call = Call::<sys::CUpti_RangeProfiler_CounterData_GetRangeInfo_Params>::new();
        let fields = call.fields();
        fields.pCounterDataImage = image.as_ptr();
        fields.counterDataImageSize = image.len();
        fields.rangeIndex = index;
        fields.rangeDelimiter = c"/".as_ptr();
        // SAFETY: it reads the image, which lives until it returns, and answers 15 without a GPU
        // (seen).
        match unsafe { self.functions.range_name.call(&mut call) } {
            // SAFETY: on success a string, which CUPTI keeps.
            Ok(()) => Ok(unsafe { string((*call.out()).rangeName) }),
            Err(Failure { code: Code::NotInitialized, .. }) => {
                self.host_range_name(counter_data, index)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The host API's own way to a range's name, which no GPU is needed for.
    ///
    /// # Errors
    /// [`Code::Unknown`] for an image that is not one, or an index past its ranges.
    pub fn host_range_name(&self, counter_data: &[u8], index: usize) -> Result<String, Failure> {
        let image = Kind::CounterData.unseal(counter_data, &self.functions.host_range_name)?;
        let mut call = Call::<sys::CUpti_Profiler_Host_GetRangeName_Params>::new();
        let fields = call.fields();
        fields.pCounterDataImage = image.as_ptr();
        fields.counterDataImageSize = image.len();
        fields.rangeIndex = index;
        fields.delimiter = c"/".as_ptr();
        // SAFETY: a host function; the image lives until it returns.
        unsafe { self.functions.host_range_name.call(&mut call) }?;
        // SAFETY: a pointer that CUPTI wrote.
        let name = unsafe { (*call.out()).pRangeName };
        // SAFETY: on success a string that is now ours, allocated by malloc
        // (cupti_profiler_host.h).
        unsafe {
            let copy = string(name);
            libc::free(name.cast_mut().cast::<c_void>());
            Ok(copy)
        }
    }

    fn count_by_name(&self, counter_data: &[u8]) -> Result<usize, Failure> {
        // The first says whether it is an image at all.
        self.host_range_name(counter_data, 0)?;
        Ok((1..).take_while(|index| self.host_range_name(counter_data, *index).is_ok()).count() + 1)
    }
}
